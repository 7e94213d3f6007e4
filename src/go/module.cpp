#include "go/module.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "base/reader.h"
#include "base/text.h"
#include "elf/relocations.h"
#include "go/build_info.h"
#include "go/inline_tree.h"
#include "go/pclntab.h"

// A table is found by its section or, without one, by a scan for headers. build_module() then
// gives it a place in the image: moduledata, if there is one, tells the base of pcs and the
// inline trees, else the header does, else the gaps between functions (the last part). A table
// counts only if the code of all its functions is there. read_module() adds the last resort,
// relocation, for linkers that leave the words of the table to the dynamic linker.

namespace gosym::go {

namespace {

using elf::Image;

constexpr uint32_t kMagics[] = {kMagic120, kMagic118, kMagic116, kMagic12};

bool is_known(uint32_t magic) {
  return std::ranges::find(kMagics, magic) != std::end(kMagics);
}

Result<TablePlace> place_of(const Image& image, const elf::Section& section) {
  auto contents = image.contents(section);
  if (!contents)
    return errorf("section {}: {}", section.name,
                  section.type == SHT_NOBITS              ? "has no contents in this file"
                  : (section.flags & SHF_COMPRESSED) != 0 ? "is compressed"
                                                          : "lies outside the file");
  return TablePlace{section.address, *contents, fmt::format("section {}", section.name)};
}

// Two were the most seen in one file. Each costs a look at a whole function table.
constexpr int kMaxCandidates = 16;

// Bytes 4 to 7 of a header, those after the magic: 0, 0, quantum, size of a pointer.
bool has_shape(uint32_t bytes, uint8_t pointer_size) {
  return (bytes & 0xffff) == 0 && bytes >> 24 == pointer_size;
}

// Since Go 1.16 the header has the offset of the names, which lie right behind it.
bool has_names_behind(Bytes bytes, const Image& image) {
  uint64_t size = image.pointer_size;
  Reader in(tail(bytes, 8), image.order);
  in.bytes(2 * size);  // how many functions and files there are
  // The form of Go 1.16 has no text start, hence a word less.
  uint64_t before_118 = in.word(image.pointer_size);
  uint64_t names = in.word(image.pointer_size);
  return in.ok() && (before_118 == 8 + 7 * size || names == 8 + 8 * size);
}

// An obfuscator (garble) changes the magic.
bool looks_like_header(Bytes bytes, const Image& image) {
  auto magic = load<uint32_t>(bytes, 0, image.order);
  return magic && has_shape(load<uint32_t>(bytes, 4).value_or(0), image.pointer_size) &&
         (is_known(*magic) || has_names_behind(bytes, image));
}

// A Go program has functions of the runtime in it, whatever else matches by chance.
bool has_runtime(const Pclntab& table) {
  for (uint32_t i = 0; i < table.function_count(); i++)
    if (auto function = table.function(i))
      if (table.name(function->name_offset).starts_with("runtime."))
        return true;
  return false;
}

// Tables without a section of their own, in `parts` of the image: section headers stripped, or
// merged into .data.rel.ro by an external linker. Headers are aligned to a pointer; no coarser
// alignment holds from Go 1.26 on.
std::vector<TablePlace> find_by_scan(const Image& image,
                                     const std::vector<elf::LoadedBytes>& parts) {
  std::vector<TablePlace> places;
  int candidates = 0;
  for (const auto& [address, bytes] : parts) {
    uint64_t misalignment = to_integer(address) % image.pointer_size;
    uint64_t first = misalignment == 0 ? 0 : image.pointer_size - misalignment;
    for (uint64_t i = first; i < bytes.size(); i += image.pointer_size) {
      // This alone rules out nearly every word.
      if (!has_shape(load<uint32_t>(bytes, i + 4).value_or(0), image.pointer_size))
        continue;
      Bytes rest = bytes.subspan(i);
      if (!looks_like_header(rest, image))
        continue;
      // The bound keeps a hostile file, which may have a header at each word, from taking
      // forever.
      if (++candidates > kMaxCandidates)
        return places;
      places.push_back({ImageAddress{to_integer(address) + i}, rest, "scan of the segments"});
    }
  }
  return places;
}

// True if compilers and a linker of C or its like made it, and its sections are not those of a
// Go program: each of these has some that only Go's linker makes.
bool is_of_others(const Image& image) {
  auto is_go = [](const elf::Section& section) {
    return section.name.starts_with(".go") || section.name.starts_with(".note.go");
  };
  return image.find_section(".eh_frame") && std::ranges::none_of(image.sections, is_go);
}

// False for code, written data, constants, and tables that are another's.
bool may_hold_table(const elf::Section& section) {
  constexpr std::string_view kOthers[] = {".rodata", ".eh_frame", ".gcc_except_table"};
  return section.type == SHT_PROGBITS &&
         (section.flags & (SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE)) == SHF_ALLOC &&
         std::ranges::none_of(
             kOthers, [&](std::string_view other) { return section.name.starts_with(other); });
}

// Bytes besides written data in which a table may lie; of a Go program all segments. Nearly all
// of a large C++ library is code and constants: no page of these is looked at without need.
std::vector<elf::LoadedBytes> other_parts(const Image& image) {
  if (!is_of_others(image))
    return image.loaded_segments(0);
  std::vector<elf::LoadedBytes> parts;
  uint64_t left = image.file.size();
  for (const elf::Section& section : image.sections) {
    // Asked first, as a file may have a million sections, and segments to look through for
    // each.
    if (!may_hold_table(section))
      continue;
    // A table is looked for by its address: the segment there has to have these very bytes.
    auto bytes = image.contents(section);
    auto loaded = image.loaded_from(section.address);
    if (!bytes || !loaded || loaded->data() != bytes->data())
      continue;
    // Overlapping sections could otherwise make a small file endless to search.
    if (bytes->size() > left)
      break;
    left -= bytes->size();
    parts.push_back({section.address, *bytes});
  }
  return parts;
}

Result<std::vector<TextPart>> read_text_parts(const ModuleData& data) {
  // Parts are of megabytes, and code of gigabytes does not link.
  constexpr uint64_t kMaxParts = 4096;
  std::vector<TextPart> parts;
  uint64_t count = data.length("textsectmap");
  // One part is the rule, and then the base of pcs is enough.
  if (count <= 1)
    return parts;
  uint64_t record = data.value("textsectmap");
  uint64_t last_end = 0;
  for (uint64_t i = 0; i < std::min(count, kMaxParts + 1); i++) {
    // Three words each (TextPart).
    auto word = [&](uint64_t index) {
      uint64_t offset = (3 * i + index) * data.image->pointer_size;
      return data.image->load_word(ImageAddress{record + offset});
    };
    auto begin = word(0);
    auto end = word(1);
    auto address = word(2);
    // Parts rise and do not overlap, so that a pc lies in one of them at most.
    if (!begin || !end || !address || i == kMaxParts || *begin < last_end || *end < *begin ||
        !data.image->is_executable_at(ImageAddress{*address}))
      return errorf("moduledata: part {} of {} of the text makes no sense", i, count);
    parts.push_back({*begin, *end, ImageAddress{*address}});
    last_end = *end;
  }
  return parts;
}

// Sets the base of pcs and what goes with it, or says why there is none. Called for tables of
// offsets, from Go 1.18 on; a header without a base has 0.
Result<> locate_text(Module& module) {
  const Image& image = *module.image;
  ImageAddress header_text{module.table.header().text_start};
  if (module.data) {
    module.text_base = TextBase::kModuleData;
    module.text = ImageAddress{module.data->value("text")};
    // Up to Go 1.25 the base stands in the file twice. If the two differ, one is of another
    // image.
    if (to_integer(header_text) != 0 && header_text != module.text)
      return errorf("text base is {:#x} by the header and {:#x} by moduledata",
                    to_integer(header_text), to_integer(module.text));
    auto parts = read_text_parts(*module.data);
    if (!parts)
      return std::move(parts).error();
    module.text_parts = *std::move(parts);
    return Ok{};
  }
  if (image.is_executable_at(header_text)) {
    module.text_base = TextBase::kHeader;
    module.text = header_text;
    return Ok{};
  }
  // Neither moduledata nor the header tells: a stripped or an obfuscated file.
  auto derived = derive_text_base(image, module.table);
  if (!derived)
    return Error("text base unknown: no moduledata found");
  module.text_base = TextBase::kDerived;
  module.text = *derived;
  return Ok{};
}

// True if the trees in `gofunc` read as such; a few of them are enough to tell. `module` is a
// copy, to try the place with.
bool has_trees_at(Module module, Bytes gofunc) {
  constexpr int kEnough = 16;
  module.gofunc = gofunc;
  int seen = 0;
  for (uint32_t i = 0; i < module.table.function_count() && seen < kEnough; i++) {
    auto function = module.table.function(i);
    if (!function || !inline_index_table(module.table, *function))
      continue;
    auto first = read_inlined_call(module.table, inline_tree_of(module, *function), 0);
    // A wrong place gives names and offsets that lead nowhere with all but certainty.
    if (!first || module.table.name(first->name).empty() ||
        first->parent_pc > function->end - function->entry)
      return false;
    seen++;
  }
  return seen > 0;
}

// From Go 1.26 on gofunc lies behind the records, aligned. A header with a text start is of a
// release before: there it lies elsewhere. `table` begins at the header, and has a function:
// Pclntab::parse() takes no table without.
Bytes derive_gofunc(const Module& module, Bytes table) {
  auto last = module.table.function(module.table.function_count() - 1);
  if (!last || module.table.header().text_start != 0)
    return {};
  uint64_t records_end = module.table.header().functions + last->offset + last->size;
  // The alignment depends on the linker; each is tried, and trees tell the right one.
  for (uint64_t alignment : {8, 4, 16, 32}) {
    uint64_t start = to_integer(module.table_address) + records_end;
    start = (start + alignment - 1) / alignment * alignment;
    Bytes gofunc = tail(table, start - to_integer(module.table_address));
    if (has_trees_at(module, gofunc))
      return gofunc;
  }
  return {};
}

// Finds moduledata. Two records that disagree about the code make neither credible.
Result<> find_data(Module& module) {
  auto records = find_module_data(*module.image, module.table, module.table_address);
  // Several records that agree do no harm: the first counts.
  for (const ModuleData& record : records)
    if (record.value("text") != records[0].value("text"))
      return errorf("text base is {:#x} by one moduledata and {:#x} by another",
                    records[0].value("text"), record.value("text"));
  if (!records.empty())
    module.data = records[0];
  return Ok{};
}

// True if the file has the code of all functions. So their tables are bounded by it too: none
// is walked beyond the code of its function.
bool has_code(const Module& module) {
  const Pclntab& table = module.table;
  // With parts each is looked at by itself: between them lies code that is not Go's.
  for (const TextPart& part : module.text_parts)
    if (!module.image->has_code(part.address, part.end - part.begin))
      return false;
  uint64_t begin = table.entry(0);
  uint64_t end = table.entry(table.function_count());
  auto address = module.address_of(begin);
  return !module.text_parts.empty() ||
         (address && module.image->has_code(*address, end - begin));
}

Result<Module> build_module(const Image& image, const TablePlace& place, Pclntab table) {
  Module module{.image = &image,
                .table = table,
                .table_address = place.address,
                .found_by = place.found_by};
  if (auto found = find_data(module); !found)
    return std::move(found).error();
  // Since Go 1.18 pcs are offsets from a base that moduledata knows best, and inline trees lie
  // at gofunc, which only it knows. Before, both were addresses in the table.
  if (table.has_offsets()) {
    if (auto located = locate_text(module); !located)
      return std::move(located).error();
    module.gofunc =
        module.data
            ? image.loaded_from(ImageAddress{module.data->value("gofunc")}).value_or(Bytes{})
            : derive_gofunc(module, place.bytes);
  }
  if (!has_code(module))
    return Error("the code of its functions is not in the image");
  module.wrapper_id = learn_wrapper_id(table);
  return module;
}

// True if each of the first records ends where the next begins, as it does not if they are read
// by the layout of another release.
bool has_records_in_a_row(const Pclntab& table) {
  constexpr uint32_t kEnough = 64;
  constexpr uint64_t kAlignment = 8;
  // Padding to the next record is less than its alignment.
  for (uint32_t i = 0; i + 1 < std::min(table.function_count(), kEnough); i++) {
    auto function = table.function(i);
    auto next = table.function(i + 1);
    uint64_t end = function ? function->offset + function->size : 0;
    if (!function || !next || next->offset < end || next->offset - end >= kAlignment)
      return false;
  }
  return true;
}

// A table whose magic is not one of Go's: that of a release to come, or an obfuscated one. It
// is taken for what the runtime's own record confirms.
std::optional<Module> read_unknown_magic(const Image& image, const TablePlace& place) {
  auto magic = load<uint32_t>(place.bytes, 0, image.order);
  if (!magic || is_known(*magic))
    return std::nullopt;
  // Newest first: a release to come is most like that one.
  for (uint32_t known : kMagics) {
    auto table = Pclntab::parse(place.bytes, image.order, image.pointer_size, known);
    auto module = table ? build_module(image, place, *table) : Result<Module>(Error(""));
    if (!module || !module->data || !has_records_in_a_row(module->table))
      continue;
    module->assumption = fmt::format("unknown magic {:#x} read as that of {}", *magic,
                                     to_string(module->table.format()));
    return *std::move(module);
  }
  return std::nullopt;
}

Result<Module> read_place(const Image& image, const TablePlace& place) {
  auto table = Pclntab::parse(place.bytes, image.order, image.pointer_size);
  auto module =
      table ? build_module(image, place, *table) : Result<Module>(std::move(table).error());
  if (module)
    return module;
  if (auto unknown = read_unknown_magic(image, place))
    return *std::move(unknown);
  return std::move(module).error().context(place.found_by);
}

// Takes the table of a scan that moduledata confirms; else the first that reads as a Go
// program. None if no place has names of Go's runtime; an error if none that has them can be
// used.
std::optional<Result<Module>> read_scanned(const Image& image,
                                           const std::vector<TablePlace>& places) {
  std::optional<Result<Module>> best;
  for (const TablePlace& place : places) {
    auto module = read_place(image, place);
    if (module && module->data)
      return module;
    // Chance may give a header; names of the runtime are not there by chance.
    auto table = Pclntab::parse(place.bytes, image.order, image.pointer_size);
    if (!table || !has_runtime(*table))
      continue;
    if (!best || (module && !*best))
      best = std::move(module);
  }
  return best;
}

// Says which release a newer one than gosym knows is read as; empty for those it knows.
std::string assume_release(const Image& image) {
  constexpr uint64_t kNewestKnown = 27;
  auto info = read_build_info(image);
  std::string_view version = info ? info->go_version : std::string_view();
  // Versions of toolchains of others have the release somewhere in them, as "devel
  // go1.24-...".
  size_t start = version.find("go1.");
  if (start == std::string_view::npos)
    return {};
  version.remove_prefix(start + 4);
  size_t digits = std::min(version.find_first_not_of("0123456789"), version.size());
  auto release = parse_decimal(version.substr(0, digits));
  if (!release || *release <= kNewestKnown)
    return {};
  return fmt::format("Go 1.{} is newer than what is known: read as Go 1.{}", *release,
                     kNewestKnown);
}

}  // namespace

std::string_view to_string(TextBase base) {
  switch (base) {
    case TextBase::kAbsolute:
      return "not needed";
    case TextBase::kModuleData:
      return "moduledata";
    case TextBase::kHeader:
      return "header";
    case TextBase::kDerived:
      return "the gaps between functions (derived)";
  }
  assert(false);
  return {};
}

std::optional<uint64_t> Module::pc_of(ImageAddress address) const {
  if (text_parts.empty()) {
    if (address < text)
      // Pcs before the base do not exist; those behind the end find no function later.
      return std::nullopt;
    return to_integer(address) - to_integer(text);
  }
  for (const TextPart& part : text_parts)
    if (address >= part.address &&
        to_integer(address) - to_integer(part.address) < part.end - part.begin)
      return part.begin + (to_integer(address) - to_integer(part.address));
  return std::nullopt;
}

std::optional<ImageAddress> Module::address_of(uint64_t pc) const {
  if (text_parts.empty())
    return ImageAddress{to_integer(text) + pc};
  for (const TextPart& part : text_parts)
    // The end of the last part is an address as well: that of the last function's end.
    if (pc >= part.begin && (pc < part.end || (&part == &text_parts.back() && pc == part.end)))
      return ImageAddress{to_integer(part.address) + (pc - part.begin)};
  return std::nullopt;
}

const elf::Section* find_table_section(const Image& image) {
  const elf::Section* section = image.find_section(".gopclntab");
  return section ? section : image.find_section(".data.rel.ro.gopclntab");
}

std::vector<TablePlace> find_table_places(const Image& image) {
  const elf::Section* section = find_table_section(image);
  if (!section)
    return find_by_scan(image, image.loaded_segments(0));
  auto place = place_of(image, *section);
  return place ? std::vector{*place} : std::vector<TablePlace>();
}

namespace {

bool is_confirmed(const std::optional<Result<Module>>& module) {
  return module && *module && (*module)->data;
}

// None if there is no section; an error if its table cannot be used.
std::optional<Result<Module>> read_section(const Image& image) {
  const elf::Section* section = find_table_section(image);
  if (!section)
    return std::nullopt;
  auto place = place_of(image, *section);
  return place ? read_place(image, *place) : Result<Module>(std::move(place).error());
}

// None if there is no table; an error if there is, but none that can be used.
std::optional<Result<Module>> find_module(const Image& image) {
  std::optional<Result<Module>> module = read_section(image);
  if (module && *module)
    return module;
  auto scan = [&](const std::vector<elf::LoadedBytes>& parts) {
    auto scanned = read_scanned(image, find_by_scan(image, parts));
    // An error of the scan does not replace that of the section, which tells more.
    if (scanned && (*scanned || !module))
      module = std::move(scanned);
    return is_confirmed(module);
  };
  // A damaged section does not rule out a whole table elsewhere. External linkers merge it into
  // data that is relocated: no need to look through the rest, two thirds of an image.
  if (!scan(image.loaded_segments(PF_W)))
    scan(other_parts(image));
  return module;
}

}  // namespace

std::optional<Module> read_module_of_section(const Image& image) {
  std::optional<Result<Module>> module = read_section(image);
  // Entries that are addresses are right without relocation only where the file is not moved.
  bool is_certain =
      is_confirmed(module) && ((*module)->table.has_offsets() || image.type == ET_EXEC);
  return is_certain ? std::optional(**std::move(module)) : std::nullopt;
}

Result<std::optional<Module>> read_module(const Image& image, std::span<std::byte> file,
                                          bool* has_relocated) {
  auto module = find_module(image);
  // Most linkers leave the words as they will be, and those of the function table count from
  // the text base since Go 1.18. Then there is no need for 300,000 relocations, 10 ms of them.
  bool is_relocated = is_confirmed(module) && (*module)->table.has_offsets();
  bool has_changed = !is_relocated && module && elf::relocate(image, file);
  if (has_changed)
    module = find_module(image);
  if (has_relocated)
    *has_relocated = has_changed;
  if (!module)
    return std::optional<Module>();
  if (!*module)
    return std::move(*module).error();
  if ((*module)->assumption.empty())
    (*module)->assumption = assume_release(image);
  return std::optional(**std::move(module));
}

namespace {

// The least alignment of functions of all ports of Go (arm). Others leave gaps of up to
// twice 16.
constexpr uint64_t kFunctionAlignment = 4;
constexpr uint64_t kMaxGap = 32;
// Enough that nothing but the right place fits them by chance, and few enough to be quick.
constexpr size_t kMaxGaps = 256;
constexpr uint32_t kFewestGaps = 16;

struct Gap {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Gaps from all over the table, three bytes or longer: shorter ones fit code by chance too
// often. All lie in the code of the table, as its entries rise.
std::vector<Gap> pick_gaps(const Pclntab& table) {
  std::vector<Gap> gaps;
  // A step through the table, so that gaps come from all parts of the code; not every function
  // has one, so four times as many are asked.
  uint32_t step = std::max<uint32_t>(1, table.function_count() / (4 * kMaxGaps));
  for (uint32_t i = 0; i < table.function_count() && gaps.size() < kMaxGaps; i += step) {
    auto function = table.function(i);
    if (!function || function->pcfile == 0)
      // A function without a file table does not tell where its code ends.
      continue;
    uint64_t end_of_code = function->entry + code_size(table, i);
    if (function->end >= end_of_code + 3 && function->end - end_of_code < kMaxGap)
      gaps.push_back({end_of_code, function->end});
  }
  return gaps;
}

bool is_filled(Bytes code, const std::vector<Gap>& gaps) {
  // The byte differs by machine: the first gap tells which it is.
  std::byte filling = code[gaps.front().begin];
  for (const Gap& gap : gaps)
    for (uint64_t i = gap.begin; i < gap.end; i++)
      if (code[i] != filling)
        return false;
  return true;
}

// Text base by the entry point of a program that Go itself linked; none if the C library starts
// the program: then Go has a function `main` for it.
std::optional<uint64_t> base_by_entry_point(const elf::Image& image, const Pclntab& table) {
  std::optional<uint64_t> start;
  for (uint32_t i = 0; i < table.function_count(); i++) {
    auto function = table.function(i);
    std::string_view name = function ? table.name(function->name_offset) : std::string_view();
    if (name == "main")
      return std::nullopt;
    if (name.starts_with("_rt0_") && name.ends_with("_linux"))
      start = function->entry;
  }
  uint64_t entry = to_integer(image.entry);
  return start && *start <= entry ? std::optional(entry - *start) : std::nullopt;
}

}  // namespace

std::optional<ImageAddress> derive_text_base(const elf::Image& image, const Pclntab& table) {
  std::vector<Gap> gaps = pick_gaps(table);
  if (!table.has_offsets() || gaps.size() < kFewestGaps)
    return std::nullopt;
  uint64_t size = table.entry(table.function_count());

  // Between functions linkers write padding, so the right place is where all gaps of the table
  // hold nothing else. Two places that fit are no answer.
  std::vector<uint64_t> places;
  for (const auto& [address, code] : image.loaded_segments(PF_X)) {
    uint64_t start = to_integer(address);
    uint64_t first = (kFunctionAlignment - start % kFunctionAlignment) % kFunctionAlignment;
    for (uint64_t i = first; i + size <= code.size() && places.size() < 2;
         i += kFunctionAlignment)
      if (is_filled(code.subspan(i, size), gaps))
        places.push_back(start + i);
  }
  if (places.size() != 1)
    return std::nullopt;
  // A second witness, where there is one, has to agree.
  auto by_entry_point = base_by_entry_point(image, table);
  if (by_entry_point && *by_entry_point != places[0])
    return std::nullopt;
  return ImageAddress{places[0]};
}

}  // namespace gosym::go
