#include "record/files/archived_parts.h"

#include <algorithm>

#include "base/reader.h"
#include "base/text.h"
#include "go/module.h"

// Parts are extents of the file: what is loaded, and sections that name code. They are
// collected from headers that may claim anything, put in order and cut to the file by
// merged(), and less what is to be left out by without(). Sections that are not kept become
// empty ones, so that a reader of the copy does not take zeros for their contents.

namespace gosym {

namespace {

// The longest record of the runtime of a Go program that is known, moduledata, has fewer.
constexpr uint32_t kMaxRecordWords = 96;

bool is_debug_info(const elf::Section& section) {
  return section.name.starts_with(".debug_") || section.name.starts_with(".zdebug_");
}

// Says which of the sections that are not loaded are kept.
bool is_kept(const elf::Section& section) {
  return section.type == SHT_SYMTAB || section.type == SHT_STRTAB || section.type == SHT_NOTE ||
         section.name == ".gnu_debugdata" || section.name == ".gnu_debuglink" ||
         section.name == ".gnu_debugaltlink";
}

uint64_t end_of(const elf::FileExtent& extent) {
  return extent.offset + extent.size;
}

// In order, within the file, those that overlap or touch as one.
std::vector<elf::FileExtent> merged(std::vector<elf::FileExtent> extents, uint64_t file_size) {
  std::ranges::sort(extents, {}, &elf::FileExtent::offset);
  std::vector<elf::FileExtent> result;
  for (elf::FileExtent extent : extents) {
    // Headers may claim more than the file has.
    if (extent.offset >= file_size || extent.size == 0)
      continue;
    extent.size = std::min(extent.size, file_size - extent.offset);
    if (result.empty() || extent.offset > end_of(result.back()))
      result.push_back(extent);
    else
      result.back().size =
          std::max(end_of(result.back()), end_of(extent)) - result.back().offset;
  }
  return result;
}

// The extents without what is in the others; both are in order, and none touches another.
std::vector<elf::FileExtent> without(const std::vector<elf::FileExtent>& extents,
                                     const std::vector<elf::FileExtent>& left_out) {
  std::vector<elf::FileExtent> result;
  auto next = left_out.begin();
  for (const elf::FileExtent& extent : extents) {
    uint64_t begin = extent.offset;
    // Both lists are in order, so that each is passed through once.
    while (next != left_out.end() && end_of(*next) <= begin)
      ++next;
    for (auto gap = next; gap != left_out.end() && gap->offset < end_of(extent); ++gap) {
      if (gap->offset > begin)
        result.push_back({begin, gap->offset - begin});
      // A gap may reach beyond the extent: the next one begins with it again.
      begin = end_of(*gap);
    }
    if (begin < end_of(extent))
      result.push_back({begin, end_of(extent) - begin});
  }
  return result;
}

// Data is loaded and written to. What a linker only fills in is none: .data.rel.ro may have
// Go's function table.
bool is_data(const elf::Section& section) {
  if (section.type != SHT_PROGBITS || (section.flags & SHF_WRITE) == 0 ||
      section.name.starts_with(".data.rel.ro"))
    return false;
  constexpr std::string_view kNames[] = {".data", ".noptrdata", ".tdata", ".ldata", ".sdata"};
  return std::ranges::any_of(
      kNames, [&](std::string_view name) { return section.name.starts_with(name); });
}

// Places in a section where a record of the runtime may begin: it has the address of the table.
// A program has one, and few words that happen to be the same; data that was made for it could
// have any number, and so be kept as a whole.
std::vector<uint64_t> find_records(const elf::Section& section, const elf::Image& image,
                                   const elf::Section& table, const SparseCopy& file) {
  // Read in pieces into one buffer, as these sections are only looked through and not kept.
  constexpr uint64_t kPieceSize = 256 << 10;
  constexpr size_t kMaxRecords = 16;
  std::vector<uint64_t> records;
  std::vector<std::byte> buffer(kPieceSize);
  for (uint64_t offset = 0; offset < section.size && records.size() < kMaxRecords;
       offset += kPieceSize) {
    Bytes piece = file.look(
        {section.offset + offset, std::min(kPieceSize, section.size - offset)}, buffer);
    if (piece.empty())
      break;
    Reader in(piece, image.order);
    for (uint64_t i = 0; i < piece.size() && records.size() < kMaxRecords;
         i += image.pointer_size)
      if (in.word(image.pointer_size) == to_integer(table.address) && in.ok())
        records.push_back(section.offset + offset + i);
  }
  return records;
}

std::vector<elf::FileExtent> extents_of(const elf::Image& image, bool has_debug_info) {
  std::vector<elf::FileExtent> extents = elf::header_tables(image.file);
  // The tables of headers are found from the ELF header, which belongs to no segment or
  // section.
  extents.push_back({.offset = 0, .size = sizeof(Elf64_Ehdr)});
  for (const elf::Segment& segment : image.segments)
    if (segment.type == PT_LOAD || segment.type == PT_NOTE)
      extents.push_back({segment.offset, segment.file_size});
  for (const elf::Section& section : image.sections)
    // Loaded sections lie in segments, which are there already.
    if (section.type != SHT_NOBITS &&
        (is_kept(section) || (has_debug_info && is_debug_info(section))))
      extents.push_back({section.offset, section.size});
  return merged(std::move(extents), image.file.size());
}

bool is_in(const std::vector<elf::FileExtent>& extents, const elf::Section& section) {
  auto next = std::ranges::upper_bound(extents, section.offset, {}, &elf::FileExtent::offset);
  return next != extents.begin() && end_of(*std::prev(next)) >= section.offset &&
         section.size <= end_of(*std::prev(next)) - section.offset;
}

std::vector<uint64_t> hidden_types(const elf::Image& image,
                                   const std::vector<elf::FileExtent>& extents) {
  std::vector<uint64_t> places;
  // The table of segments comes first, that of sections second; an image that was parsed has
  // both.
  const elf::FileExtent table = elf::header_tables(image.file)[1];
  // Section 0 is in the table, and not among the sections.
  uint64_t entry_size = table.size / (image.sections.size() + 1);
  for (size_t i = 0; i < image.sections.size(); i++)
    if (image.sections[i].type != SHT_NOBITS && image.sections[i].size > 0 &&
        !is_in(extents, image.sections[i]))
      places.push_back(table.offset + (i + 1) * entry_size + offsetof(Elf64_Shdr, sh_type));
  return places;
}

uint64_t total(const std::vector<elf::FileExtent>& extents) {
  uint64_t sum = 0;
  for (const elf::FileExtent& extent : extents)
    sum += extent.size;
  return sum;
}

}  // namespace

Result<ArchivedParts> archived_parts(const elf::Image& image, uint64_t limit,
                                     const std::vector<elf::FileExtent>& left_out) {
  ArchivedParts parts;
  // Only that of C code in a Go program says more than its function table; Go itself makes no
  // .eh_frame.
  bool is_all_go = go::find_table_section(image) && !image.find_section(".eh_frame");
  bool has_debug_info = !is_all_go && std::ranges::any_of(image.sections, is_debug_info);
  parts.extents = without(extents_of(image, has_debug_info), left_out);
  if (total(parts.extents) > limit) {
    // The second try leaves debugging information out; the rest is needed for names.
    parts.extents = without(extents_of(image, false), left_out);
    parts.problem = fmt::format("its debugging information: with it, it has more than {}",
                                human_size(limit));
  }
  parts.size = total(parts.extents);
  if (parts.size > limit)
    return errorf("its code and its tables take {}, where {} are kept at most",
                  human_size(parts.size), human_size(limit));
  parts.hidden_types = hidden_types(image, parts.extents);
  return parts;
}

Result<std::vector<elf::FileExtent>> data_parts(const elf::Image& image,
                                                const SparseCopy& file) {
  if (image.sections.empty())
    return Error("without section headers nothing tells its data from the rest");
  uint64_t size = image.file.size();
  uint64_t record_size = uint64_t{kMaxRecordWords} * image.pointer_size;
  const elf::Section* table = go::find_table_section(image);
  std::vector<elf::FileExtent> data;
  std::vector<elf::FileExtent> records;
  for (const elf::Section& section : image.sections) {
    if (!is_data(section))
      continue;
    data.push_back({section.offset, section.size});
    if (table && section.offset < size)
      for (uint64_t place : find_records(section, image, *table, file))
        records.push_back({place, record_size});
  }
  // The records are taken out of the data, and so stay in the file.
  return without(merged(std::move(data), size), merged(std::move(records), size));
}

}  // namespace gosym
