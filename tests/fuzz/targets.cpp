#include <algorithm>

#include "go/inline_tree.h"
#include "go/module.h"
#include "mutation.h"

namespace gosym {

namespace {

using elf::FileExtent;

// Collects the targets of one file. Everything given to it is a part of the file.
class Collector {
public:
  explicit Collector(Bytes file) : file_(file) {}

  void add(std::string_view target, FileExtent extent) {
    if (extent.offset >= file_.size() || extent.size == 0)
      return;
    extent.size = std::min<uint64_t>(extent.size, file_.size() - extent.offset);
    auto known = std::ranges::find(targets_, target, &Target::name);
    if (known == targets_.end())
      known = targets_.insert(known, {.name = std::string(target), .extents = {}});
    known->extents.push_back(extent);
  }
  void add_packed(std::string_view target, FileExtent extent) {
    add(target, extent);
    for (Target& known : targets_)
      known.is_packed |= known.name == target;
  }
  void add(std::string_view target, Bytes part) {
    if (!part.empty())
      add(target, {static_cast<uint64_t>(part.data() - file_.data()), part.size()});
  }
  // The first `size` bytes of a part.
  void add_start(std::string_view target, Bytes part, uint64_t size) {
    add(target, part.first(std::min<uint64_t>(size, part.size())));
  }

  std::vector<Target> take() { return std::move(targets_); }

private:
  Bytes file_;
  std::vector<Target> targets_;
};

std::string_view target_of(const elf::Section& section) {
  constexpr uint32_t kRelr = 19;  // SHT_RELR, which glibc's elf.h has from 2.36 on
  switch (section.type) {
    case SHT_DYNAMIC:
      return "dynamic section";
    case SHT_REL:
    case SHT_RELA:
    case kRelr:
      return "relocations";
    case SHT_SYMTAB:
    case SHT_DYNSYM:
      return "symbols";
    case SHT_STRTAB:
      return "strings";
    case SHT_NOTE:
      return "notes";
    default:
      return section.name == ".go.buildinfo" ? "build info" : "";
  }
}

void collect_elf(const elf::Image& image, Collector& targets) {
  targets.add("ELF header",
              {0, image.pointer_size == 8 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)});
  auto tables = elf::header_tables(image.file);
  targets.add("program headers", tables[0]);
  targets.add("section headers", tables[1]);
  for (const elf::Section& section : image.sections)
    if (std::string_view name = target_of(section); !name.empty())
      targets.add(name, image.contents(section).value_or(Bytes{}));
}

// The start of each has a header, which random places would hardly ever meet.
void collect_debug_sections(const elf::Image& image, Collector& targets) {
  constexpr uint64_t kStart = 48;
  for (const elf::Section& section : image.sections) {
    std::string_view name = section.name;
    bool is_debug = name.starts_with(".debug_") || name.starts_with(".zdebug_");
    if (!is_debug && !name.starts_with(".gnu_debug"))
      continue;
    targets.add_packed(name, {section.offset, section.size});
    targets.add_packed("starts of debug sections",
                       {section.offset, std::min(section.size, kStart)});
  }
}

void collect_lines(Bytes file, Collector& targets) {
  std::string_view text = as_text(file);
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    targets.add_packed("lines", {begin, end - begin});
    begin = end;
  }
}

// Collects all that belongs to one function, wherever it lies.
void collect_function(const go::Module& module, uint32_t index, Bytes table,
                      Collector& targets) {
  // Enough for most; what follows is another function's anyway.
  constexpr uint64_t kStartOfTable = 32;
  constexpr uint64_t kStartOfTree = 80;
  auto function = module.table.function(index);
  if (!function)
    return;
  const go::PclntabHeader& header = module.table.header();
  bool is_old = module.table.format() < go::Format::kGo1_16;
  uint64_t records = is_old ? 0 : header.functions;
  targets.add_start("records", tail(table, records + function->offset), function->size);
  for (uint32_t rows : {function->pcsp, function->pcfile, function->pcln})
    targets.add_start("pc values", tail(table, header.pc_values + rows), kStartOfTable);
  if (auto rows = go::inline_index_table(module.table, *function))
    targets.add_start("inline indices", tail(table, header.pc_values + *rows), kStartOfTable);
  targets.add_start("inline trees", go::inline_tree_of(module, *function), kStartOfTree);
  targets.add("function names", as_bytes(module.table.name(function->name_offset)));
}

void collect_go(const go::Module& module, Collector& targets) {
  const go::Pclntab& table = module.table;
  const go::PclntabHeader& header = table.header();
  Bytes bytes = module.image->loaded_from(module.table_address).value_or(Bytes{});
  bool is_old = table.format() < go::Format::kGo1_16;
  uint64_t pc_size = table.has_offsets() ? 4 : header.pointer_size;
  targets.add_start("pclntab header", bytes, is_old ? header.functions : header.names);
  targets.add_start("functab", tail(bytes, header.functions),
                    (2 * header.function_count + 1) * pc_size + 4);
  targets.add_start("file table", tail(bytes, is_old ? header.files : header.units),
                    is_old ? 4 * header.file_count : header.files - header.units);
  for (std::string_view file : table.files())
    targets.add("file names", as_bytes(file));
  for (uint32_t i = 0; i < table.function_count(); i++)
    collect_function(module, i, bytes, targets);
  if (!module.data)
    return;
  constexpr uint64_t kWords = 75;  // as many as the longest layout has
  targets.add_start("moduledata",
                    module.image->loaded_from(module.data->address).value_or(Bytes{}),
                    kWords * header.pointer_size);
}

std::vector<uint64_t> borders_of(const elf::Image& image, const std::vector<Target>& targets) {
  std::vector<uint64_t> borders = {image.file.size()};
  auto add = [&](uint64_t begin, uint64_t size) {
    borders.push_back(begin);
    borders.push_back(begin + size);
  };
  for (const elf::Section& section : image.sections) {
    add(section.offset, section.size);
    add(to_integer(section.address), section.size);
  }
  for (const elf::Segment& segment : image.segments)
    add(to_integer(segment.address), segment.memory_size);
  for (const Target& target : targets)
    add(target.extents.front().offset, target.extents.front().size);
  return borders;
}

}  // namespace

Result<Original> study(Bytes file) {
  std::vector<std::byte> relocated(file.begin(), file.end());
  Collector targets(relocated);
  auto image = elf::parse(relocated);
  if (!image) {
    collect_lines(relocated, targets);
    return Original{.file = file, .targets = targets.take(), .borders = {file.size()}};
  }
  auto module = go::read_module(*image, relocated);
  if (!module)
    return std::move(module).error();
  collect_elf(*image, targets);
  collect_debug_sections(*image, targets);
  if (*module)
    collect_go(**module, targets);
  Original original{
      .file = file, .order = image->order, .targets = targets.take(), .borders = {}};
  original.borders = borders_of(*image, original.targets);
  return original;
}

}  // namespace gosym
