#include "go/module_data.h"

#include <cassert>

namespace gosym::go {

namespace {

using elf::Image;
using Layout = ModuleDataLayout;

// Records that are kept of one image. A second one would be chance, or a merged image.
constexpr size_t kMaxRecords = 16;

constexpr ModuleField kGo15[] = {
    {"pclntable", 0, true},
    {"ftab", 3, true},
    {"filetab", 6, true},
    {"findfunctab", 9},
    {"minpc", 10},
    {"maxpc", 11},
    {"text", 12},
    {"etext", 13},
    {"noptrdata", 14},
    {"enoptrdata", 15},
    {"data", 16},
    {"edata", 17},
    {"bss", 18},
    {"ebss", 19},
    {"noptrbss", 20},
    {"enoptrbss", 21},
    {"end", 22},
    {"gcdata", 23},
    {"gcbss", 24},
    {"types", 25},
    {"etypes", 26},
    {"textsectmap", 27, true},
};
// Go 1.5 and 1.6 end their common part with gcbss, Go 1.7 has no textsectmap yet; it reads as
// empty or as what comes in its place, and is not used for these (their entries are addresses).
constexpr size_t kGo15Fields = 19;

// From Go 1.16 on the first 32 words are the same.
#define GOSYM_COMMON_FIELDS                                                                  \
  {"pcHeader", 0}, {"funcnametab", 1, true}, {"cutab", 4, true}, {"filetab", 7, true},       \
      {"pctab", 10, true}, {"pclntable", 13, true}, {"ftab", 16, true}, {"findfunctab", 19}, \
      {"minpc", 20}, {"maxpc", 21}, {"text", 22}, {"etext", 23}, {"noptrdata", 24},          \
      {"enoptrdata", 25}, {"data", 26}, {"edata", 27}, {"bss", 28}, {"ebss", 29},            \
      {"noptrbss", 30}, {                                                                    \
    "enoptrbss", 31                                                                          \
  }

constexpr ModuleField kGo116[] = {
    GOSYM_COMMON_FIELDS,
    {"end", 32},
    {"gcdata", 33},
    {"gcbss", 34},
    {"types", 35},
    {"etypes", 36},
    {"textsectmap", 37, true},
    {"typelinks", 40, true},
    {"itablinks", 43, true},
};
constexpr ModuleField kGo118[] = {
    GOSYM_COMMON_FIELDS,
    {"end", 32},
    {"gcdata", 33},
    {"gcbss", 34},
    {"types", 35},
    {"etypes", 36},
    {"rodata", 37},
    {"gofunc", 38},
    {"textsectmap", 39, true},
    {"typelinks", 42, true},
    {"itablinks", 45, true},
};
constexpr ModuleField kGo120[] = {
    GOSYM_COMMON_FIELDS,
    {"covctrs", 32},
    {"ecovctrs", 33},
    {"end", 34},
    {"gcdata", 35},
    {"gcbss", 36},
    {"types", 37},
    {"etypes", 38},
    {"rodata", 39},
    {"gofunc", 40},
    {"textsectmap", 41, true},
    {"typelinks", 44, true},
    {"itablinks", 47, true},
};
constexpr ModuleField kGo126[] = {
    GOSYM_COMMON_FIELDS,     {"covctrs", 32},
    {"ecovctrs", 33},        {"end", 34},
    {"gcdata", 35},          {"gcbss", 36},
    {"types", 37},           {"etypes", 38},
    {"rodata", 39},          {"gofunc", 40},
    {"epclntab", 41},        {"textsectmap", 42, true},
    {"typelinks", 45, true}, {"itablinks", 48, true},
};
constexpr ModuleField kGo127[] = {
    GOSYM_COMMON_FIELDS, {"covctrs", 32},     {"ecovctrs", 33},
    {"end", 34},         {"gcdata", 35},      {"gcbss", 36},
    {"types", 37},       {"typedesclen", 38}, {"etypes", 39},
    {"itaboffset", 40},  {"itabsize", 41},    {"rodata", 42},
    {"gofunc", 43},      {"epclntab", 44},    {"textsectmap", 45, true},
};
#undef GOSYM_COMMON_FIELDS

// From 1.26 on gofunc lies between the header and the end of pclntab. The older reading comes
// last: the words of a later record would pass for one.
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
  // Go 1.5 and 1.6 have other words there, which do not lead to loaded bytes.
  bool has_types = data.word(25) != 0 && data.word(25) <= data.word(26) &&
                   data.image->loaded_from(ImageAddress{data.word(25)});
  return has_types ? Layout::kGo1_7 : Layout::kGo1_5;
}

bool has_text_of(const ModuleData& data, const Pclntab& table) {
  uint64_t minpc = data.value("minpc");
  uint64_t text = data.value("text");
  // minpc is an address, the entries of Go 1.18 and later are offsets.
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
  switch (layout) {
    case Layout::kGo1_5:
      return "Go 1.5 and 1.6";
    case Layout::kGo1_7:
      return "Go 1.7 to 1.15";
    case Layout::kGo1_16:
      return "Go 1.16 and 1.17";
    case Layout::kGo1_18:
      return "Go 1.18 and 1.19";
    case Layout::kGo1_20:
      return "Go 1.20 to 1.25";
    case Layout::kGo1_26:
      return "Go 1.26";
    case Layout::kGo1_27:
      return "Go 1.27";
  }
  assert(false);
  return {};
}

std::span<const ModuleField> ModuleData::fields() const {
  switch (layout) {
    case Layout::kGo1_5:
      return std::span(kGo15).first(kGo15Fields);
    case Layout::kGo1_7:
      return kGo15;
    case Layout::kGo1_16:
      return kGo116;
    case Layout::kGo1_18:
      return kGo118;
    case Layout::kGo1_20:
      return kGo120;
    case Layout::kGo1_26:
      return kGo126;
    case Layout::kGo1_27:
      return kGo127;
  }
  assert(false);
  return {};
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
  for (const elf::LoadedBytes& place : likely_places(image))
    if (found.empty())
      for_each_word(image, place, address, try_at);
  if (found.empty())
    for (const elf::LoadedBytes& segment : image.loaded_segments(PF_W))
      for_each_word(image, segment, address, try_at);
  return found;
}

}  // namespace gosym::go
