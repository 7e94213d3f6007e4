#include "record/files/archived_parts.h"

#include <algorithm>

#include "base/text.h"
#include "go/module.h"

namespace gosym {

namespace {

bool is_debug_info(const elf::Section& section) {
  return section.name.starts_with(".debug_") || section.name.starts_with(".zdebug_");
}

// Of those that are not loaded.
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

std::vector<elf::FileExtent> extents_of(const elf::Image& image, bool has_debug_info) {
  std::vector<elf::FileExtent> extents = elf::header_tables(image.file);
  extents.push_back({.offset = 0, .size = sizeof(Elf64_Ehdr)});
  for (const elf::Segment& segment : image.segments)
    if (segment.type == PT_LOAD || segment.type == PT_NOTE)
      extents.push_back({segment.offset, segment.file_size});
  for (const elf::Section& section : image.sections)
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

Result<ArchivedParts> archived_parts(const elf::Image& image, uint64_t limit) {
  ArchivedParts parts;
  // C code in a Go program has its names from .symtab.
  bool has_debug_info =
      !go::find_table_section(image) && std::ranges::any_of(image.sections, is_debug_info);
  parts.extents = extents_of(image, has_debug_info);
  if (total(parts.extents) > limit) {
    parts.extents = extents_of(image, false);
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

}  // namespace gosym
