#include "go/module.h"

#include <algorithm>
#include <cstring>

namespace gosym::go {

namespace {

using elf::Image;

// Words of moduledata, named in module.h.
constexpr uint64_t kFunctionTableLength = 17;
constexpr uint64_t kMinPc = 20;
constexpr uint64_t kText = 22;
constexpr uint64_t kTypes = 37;

struct Place {
  ImageAddress address{};
  Bytes bytes;  // from the header to the end of the section or segment
  std::string found_by;
};

// Where linkers put the table: .data.rel.ro.gopclntab in PIE of Go 1.8 to 1.25.
std::optional<Place> find_section(const Image& image) {
  for (std::string_view name : {".gopclntab", ".data.rel.ro.gopclntab"})
    if (const elf::Section* section = image.find_section(name))
      if (auto contents = image.contents(*section))
        return Place{section->address, *contents, fmt::format("section {}", name)};
  return std::nullopt;
}

// Two were the most seen in one file. Each costs a look at a whole function table.
constexpr int kMaxCandidates = 16;

bool looks_like_header(Bytes bytes, const Image& image) {
  auto magic = load<uint32_t>(bytes, 0, image.order);
  return (magic == kMagic118 || magic == kMagic120) && bytes.size() >= 8 &&
         load<uint16_t>(bytes, 4) == 0 && static_cast<uint8_t>(bytes[7]) == image.pointer_size;
}

// A table without a section of its own: section headers stripped, or merged into .data.rel.ro
// by an external linker. Of what looks like a header, the first that parses is the table.
// Headers are aligned to a pointer; no coarser alignment holds from Go 1.26 on.
std::optional<Place> find_by_scan(const Image& image) {
  int candidates = 0;
  for (const elf::Segment& segment : image.segments) {
    if (segment.type != PT_LOAD)
      continue;
    auto bytes = slice(image.file, segment.offset, segment.file_size);
    if (!bytes)
      continue;
    uint64_t misalignment = to_integer(segment.address) % image.pointer_size;
    uint64_t first = misalignment == 0 ? 0 : image.pointer_size - misalignment;
    for (uint64_t i = first; i < bytes->size(); i += image.pointer_size) {
      Bytes rest = bytes->subspan(i);
      if (!looks_like_header(rest, image))
        continue;
      if (++candidates > kMaxCandidates)
        return std::nullopt;
      if (Pclntab::parse(rest, image.order, image.pointer_size))
        return Place{ImageAddress{to_integer(segment.address) + i}, rest,
                     "scan of the segments"};
    }
  }
  return std::nullopt;
}

// Reads words of a moduledata record at an address.
struct ModuleData {
  const Image& image;
  ImageAddress address;

  uint64_t word(uint64_t index) const {
    return image.load_word(ImageAddress{to_integer(address) + index * image.pointer_size})
        .value_or(0);
  }
};

bool is_module_data(const ModuleData& data, const Module& module) {
  return data.word(0) == to_integer(module.table_address) &&
         data.word(kFunctionTableLength) == uint64_t{module.table.function_count()} + 1 &&
         data.word(kText) == data.word(kMinPc) &&
         data.image.is_executable_at(ImageAddress{data.word(kText)});
}

std::optional<ModuleData> find_module_data(const Image& image, const Module& module) {
  if (const elf::Section* section = image.find_section(".go.module"))
    if (ModuleData data{image, section->address}; is_module_data(data, module))
      return data;
  auto low = static_cast<uint32_t>(to_integer(module.table_address));
  bool is_big_64 = image.order == ByteOrder::kBig && image.pointer_size == 8;
  uint64_t low_half = is_big_64 ? 4 : 0;
  for (const elf::Segment& segment : image.segments) {
    if (segment.type != PT_LOAD || (segment.flags & PF_W) == 0)
      continue;
    auto bytes = slice(image.file, segment.offset, segment.file_size);
    if (!bytes)
      continue;
    for (uint64_t i = 0; i < bytes->size(); i += image.pointer_size) {
      ModuleData data{image, ImageAddress{to_integer(segment.address) + i}};
      // The low half alone rules out nearly every word, at once.
      if (load<uint32_t>(*bytes, i + low_half, image.order) == low &&
          is_module_data(data, module))
        return data;
    }
  }
  return std::nullopt;
}

ImageAddress gofunc_address(const ModuleData& data, const Module& module) {
  uint64_t header = to_integer(module.table_address);
  if (module.table.header().magic == kMagic118)
    return ImageAddress{data.word(38)};
  if (header < data.word(43) && data.word(43) < data.word(44) &&
      data.word(39) > data.word(kTypes))
    return ImageAddress{data.word(43)};  // 1.27
  return ImageAddress{data.word(40)};
}

// Sets text and gofunc, or says why the table has no place.
Result<> locate(const Image& image, Module& module) {
  auto data = find_module_data(image, module);
  uint64_t text_start = module.table.header().text_start;
  if (data) {
    module.text = ImageAddress{data->word(kText)};
    module.gofunc = image.loaded_from(gofunc_address(*data, module)).value_or(Bytes{});
    if (text_start != 0 && text_start != to_integer(module.text))
      return errorf("text base is {:#x} by the header and {:#x} by moduledata", text_start,
                    to_integer(module.text));
    return Ok{};
  }
  if (!image.is_executable_at(ImageAddress{text_start}))
    return Error("text base unknown: no moduledata found");
  module.text = ImageAddress{text_start};
  return Ok{};
}

}  // namespace

Result<std::optional<Module>> read_module(const Image& image) {
  auto place = find_section(image);
  auto table = place ? Pclntab::parse(place->bytes, image.order, image.pointer_size)
                     : Result<Pclntab>(Error("no such section"));
  if (!table) {
    // A damaged section does not rule out a whole table elsewhere.
    if (auto scanned = find_by_scan(image)) {
      place = std::move(scanned);
      table = Pclntab::parse(place->bytes, image.order, image.pointer_size);
    }
  }
  if (!place)
    return std::optional<Module>();
  if (!table)
    return std::move(table).error().context(place->found_by);

  Module module{.table = *table, .table_address = place->address, .found_by = place->found_by};
  if (auto located = locate(image, module); !located)
    return std::move(located).error().context(place->found_by);
  return std::optional(std::move(module));
}

}  // namespace gosym::go
