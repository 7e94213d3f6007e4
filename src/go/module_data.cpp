#include "go/module_data.h"

#include <array>

// A record has no magic. It is known by its first word, which is the address of the function
// table, and by words that have to agree with the header; then the layout of its release
// follows from the format of the table and, where two releases share one, from words that only
// one of them can have. A layout is a list of fields, whose offsets are counted while this is
// compiled.

namespace gosym::go {

namespace {

using elf::Image;
using Layout = ModuleDataLayout;

// Records that are kept of one image. A second one would be chance, or a merged image.
constexpr size_t kMaxRecords = 16;

// Fields in the order of the record, and the layouts that have them; one that has moved has two
// rows. The place of a field follows from those before it in its layout.
struct FieldRow {
  std::string_view name;
  bool is_slice = false;
  Layout since = Layout::kGo1_5;
  Layout until = Layout::kGo1_27;

  constexpr bool is_of(Layout layout) const { return since <= layout && layout <= until; }
};
constexpr bool kIsSlice = true;
constexpr FieldRow kFieldRows[] = {
    {"pcHeader", !kIsSlice, Layout::kGo1_16},
    {"funcnametab", kIsSlice, Layout::kGo1_16},
    {"cutab", kIsSlice, Layout::kGo1_16},
    {"filetab", kIsSlice, Layout::kGo1_16},
    {"pctab", kIsSlice, Layout::kGo1_16},
    {"pclntable", kIsSlice},
    {"ftab", kIsSlice},
    {"filetab", kIsSlice, Layout::kGo1_5, Layout::kGo1_7},
    {"findfunctab"},
    {"minpc"},
    {"maxpc"},
    {"text"},
    {"etext"},
    {"noptrdata"},
    {"enoptrdata"},
    {"data"},
    {"edata"},
    {"bss"},
    {"ebss"},
    {"noptrbss"},
    {"enoptrbss"},
    {"covctrs", !kIsSlice, Layout::kGo1_20},
    {"ecovctrs", !kIsSlice, Layout::kGo1_20},
    {"end"},
    {"gcdata"},
    {"gcbss"},
    {"types", !kIsSlice, Layout::kGo1_7},
    {"typedesclen", !kIsSlice, Layout::kGo1_27},
    {"etypes", !kIsSlice, Layout::kGo1_7},
    {"itaboffset", !kIsSlice, Layout::kGo1_27},
    {"itabsize", !kIsSlice, Layout::kGo1_27},
    {"rodata", !kIsSlice, Layout::kGo1_18},
    {"gofunc", !kIsSlice, Layout::kGo1_18},
    {"epclntab", !kIsSlice, Layout::kGo1_26},
    // Go 1.7 itself has none yet: there it reads as empty or as what comes in its place, and is
    // not used, for the entries of that release are addresses.
    {"textsectmap", kIsSlice, Layout::kGo1_7},
    {"typelinks", kIsSlice, Layout::kGo1_16, Layout::kGo1_26},
    {"itablinks", kIsSlice, Layout::kGo1_16, Layout::kGo1_26},
};

template <Layout layout>
constexpr auto kFieldsOf = [] {
  auto is_of = [](const FieldRow& row) { return row.is_of(layout); };
  std::array<ModuleField, std::ranges::count_if(kFieldRows, is_of)> fields;
  size_t count = 0;
  uint8_t word = 0;
  for (const FieldRow& row : kFieldRows)
    // A slice takes three words, anything else one.
    if (row.is_of(layout)) {
      fields[count++] = {row.name, word, row.is_slice};
      word = static_cast<uint8_t>(word + (row.is_slice ? 3 : 1));
    }
  return fields;
}();

struct LayoutRow {
  std::string_view name;
  std::span<const ModuleField> fields;
};
// By number.
constexpr LayoutRow kLayouts[] = {
    {"Go 1.5 and 1.6", kFieldsOf<Layout::kGo1_5>},
    {"Go 1.7 to 1.15", kFieldsOf<Layout::kGo1_7>},
    {"Go 1.16 and 1.17", kFieldsOf<Layout::kGo1_16>},
    {"Go 1.18 and 1.19", kFieldsOf<Layout::kGo1_18>},
    {"Go 1.20 to 1.25", kFieldsOf<Layout::kGo1_20>},
    {"Go 1.26", kFieldsOf<Layout::kGo1_26>},
    {"Go 1.27", kFieldsOf<Layout::kGo1_27>},
};

// From 1.26 on gofunc lies between the header and the end of pclntab. The older reading comes
// last: the words of a later record would pass for one. Words are told by number, for the
// layout is not known yet: gofunc and epclntab are 43 and 44 in 1.27, 40 and 41 in 1.26; 37 is
// types, and 39 in 1.27 etypes.
Layout tell_offset_layout(const ModuleData& data, const Pclntab& table,
                          uint64_t table_address) {
  if (table.format() == Format::kGo1_18)
    return Layout::kGo1_18;
  if (table_address < data.word(43) && data.word(43) < data.word(44) &&
      data.word(39) > data.word(37))
    return Layout::kGo1_27;
  if (table_address < data.word(40) && data.word(40) < data.word(41) &&
      table.header().text_start == 0)
    return Layout::kGo1_26;
  return Layout::kGo1_20;
}

Layout tell_layout(const ModuleData& data, const Pclntab& table, uint64_t table_address) {
  if (table.format() >= Format::kGo1_18)
    return tell_offset_layout(data, table, table_address);
  if (table.format() == Format::kGo1_16)
    return Layout::kGo1_16;
  // Words 25 and 26 are types and etypes. Go 1.5 and 1.6 have other words there, which do not
  // lead to loaded bytes.
  bool has_types = data.word(25) != 0 && data.word(25) <= data.word(26) &&
                   data.image->loaded_from(ImageAddress{data.word(25)});
  return has_types ? Layout::kGo1_7 : Layout::kGo1_5;
}

bool has_text_of(const ModuleData& data, const Pclntab& table) {
  uint64_t minpc = data.value("minpc");
  uint64_t text = data.value("text");
  // minpc is an address, the entries of Go 1.18 and later are offsets.
  // With addresses minpc has to be the first entry of functab as well.
  bool is_whole = table.has_offsets() || minpc == table.entry(0);
  return is_whole && minpc == text && text <= data.value("maxpc") &&
         data.value("maxpc") <= data.value("etext") &&
         data.image->is_executable_at(ImageAddress{text});
}

// True if the words at data.address are a record of the table; sets the layout then.
bool fits(ModuleData& data, const Pclntab& table, uint64_t table_address) {
  uint64_t pcs = uint64_t{table.function_count()} + 1;
  const PclntabHeader& header = table.header();
  bool is_old = table.format() < Format::kGo1_16;
  // The first word is the address of the table in all releases.
  if (data.word(0) != table_address)
    return false;
  // Up to Go 1.15 word 3 begins the slice ftab; later word 1 begins funcnametab, and word 17
  // is the length of ftab.
  bool has_tables = is_old ? data.word(3) == table_address + header.functions &&
                                 data.word(4) == pcs && data.word(5) == pcs
                           : data.word(1) == table_address + header.names &&
                                 data.word(2) == data.word(3) && data.word(17) == pcs;
  if (!has_tables)
    return false;
  data.layout = is_old ? Layout::kGo1_5 : Layout::kGo1_16;  // enough for has_text_of
  if (!has_text_of(data, table))
    return false;
  data.layout = tell_layout(data, table, table_address);
  return true;
}

// The writable data that Go's own linker puts the record into.
std::vector<elf::LoadedBytes> likely_places(const Image& image) {
  std::vector<elf::LoadedBytes> places;
  for (std::string_view name : {".go.module", ".noptrdata", ".data"})
    if (const elf::Section* section = image.find_section(name))
      if (auto bytes = image.contents(*section); bytes && (section->flags & SHF_WRITE) != 0)
        places.push_back({section->address, *bytes});
  return places;
}

// Visits each place where a word `value` lies, which begins a record in any layout.
template <class Visitor>
void for_each_word(const Image& image, const elf::LoadedBytes& data, uint64_t value,
                   Visitor visit) {
  auto low = static_cast<uint32_t>(value);
  // The low half alone rules out nearly every word, at once.
  uint64_t low_half = image.order == ByteOrder::kBig && image.pointer_size == 8 ? 4 : 0;
  for (uint64_t i = 0; i < data.bytes.size(); i += image.pointer_size)
    if (load<uint32_t>(data.bytes, i + low_half, image.order) == low)
      visit(ImageAddress{to_integer(data.address) + i});
}

}  // namespace

std::string_view to_string(ModuleDataLayout layout) {
  return kLayouts[static_cast<size_t>(layout)].name;
}

std::span<const ModuleField> ModuleData::fields() const {
  return kLayouts[static_cast<size_t>(layout)].fields;
}

uint64_t ModuleData::word(uint64_t index) const {
  return image->load_word(ImageAddress{to_integer(address) + index * image->pointer_size})
      .value_or(0);
}

uint64_t ModuleData::value(std::string_view field) const {
  for (const ModuleField& known : fields())
    if (known.name == field)
      return word(known.word);
  return 0;
}

uint64_t ModuleData::length(std::string_view slice) const {
  for (const ModuleField& known : fields())
    if (known.name == slice && known.is_slice)
      return word(known.word + 1u);
  return 0;
}

std::vector<ModuleData> find_module_data(const Image& image, const Pclntab& table,
                                         ImageAddress table_address) {
  std::vector<ModuleData> found;
  uint64_t address = to_integer(table_address);
  auto try_at = [&](ImageAddress at) {
    ModuleData data{.image = &image, .address = at, .layout = {}};
    if (found.size() < kMaxRecords && fits(data, table, address))
      found.push_back(data);
  };
  // Half a megabyte at the most, of the 20 that may be writable.
  // Places are tried in order, and the rest of the data only if none of them has a record.
  for (const elf::LoadedBytes& place : likely_places(image))
    if (found.empty())
      for_each_word(image, place, address, try_at);
  if (found.empty())
    for (const elf::LoadedBytes& segment : image.loaded_segments(PF_W))
      for_each_word(image, segment, address, try_at);
  return found;
}

}  // namespace gosym::go
