#include "record/files/copied_code.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/mapped_file.h"
#include "record/files/file_helper.h"
#include "record/files/image_catalog.h"
#include "record/system_state.h"

// A copy is code in memory between two mappings of one file. Each neighbour tells where the
// file would lie (the bias), up to a choice of its segments; with each bias each segment of
// code tells what part of the memory it would be, and a comparison at 32 places tells if it
// is.

namespace gosym {

namespace {

// A program has one such place, or one for each of its large libraries.
constexpr size_t kMaxPlacesOfCopies = 16;

// A file may say that it has any number of segments, over one another. Programs have one of
// code, and pages that are parts of two.
constexpr size_t kMaxBiases = 8;
constexpr size_t kMaxCompared = 16;  // parts of memory, at one place

// Two pieces of code are compared at so many places, evenly spread, each so many bytes.
constexpr size_t kCompared = 32;
constexpr size_t kComparedSize = 64;

bool is_of_file(const proc::MapsEntry& entry) {
  return entry.inode != 0 && !is_memory(entry.path);
}

bool is_code_without_file(const proc::MapsEntry& entry) {
  return entry.is_executable && (entry.path.empty() || is_memory(entry.path));
}

// Adds the place where the address 0 of the file would be, by a mapping of it. A page at which
// two segments meet is mapped as a part of either.
void add_biases(std::span<const LoadSegment> segments, const RawMapping& mapping,
                std::set<uint64_t>& biases) {
  constexpr uint64_t kPage = 4096;
  for (const LoadSegment& segment : segments) {
    uint64_t begin = segment.file_offset & ~(kPage - 1);
    if (biases.size() < kMaxBiases && mapping.file_offset >= begin &&
        mapping.file_offset - begin < segment.file_size + kPage)
      // Address of a segment in memory less that in the file.
      biases.insert(mapping.start - mapping.file_offset + segment.file_offset -
                    segment.address);
  }
}

// The part of the memory that would have code of this segment.
std::optional<RawMapping> part_of(const PlaceOfCopy& place, const LoadSegment& segment,
                                  uint64_t bias) {
  constexpr uint32_t kExecutable = 1;  // PF_X
  uint64_t code = bias + segment.address;
  uint64_t start = std::max(code, place.memory.start);
  uint64_t end = std::min(code + segment.file_size, place.memory.start + place.memory.length);
  if (!(segment.flags & kExecutable) || code + segment.file_size < code || start >= end ||
      end - start < kComparedSize)
    return std::nullopt;
  return RawMapping{.time = place.memory.time,
                    .pid = place.memory.pid,
                    .start = start,
                    .length = end - start,
                    .file_offset = segment.file_offset + (start - code),
                    .file = place.before.file,
                    .path = place.before.path};
}

// Padding, and what was not written yet, is the same in many places.
bool tells_something(Bytes bytes) {
  return std::ranges::any_of(bytes, [&](std::byte byte) { return byte != bytes[0]; });
}

bool has_same_code(const RawMapping& part, int file, const proc::ReadMemory& read_memory) {
  std::byte of_file[kCompared][kComparedSize];
  std::byte of_memory[kCompared][kComparedSize];
  std::vector<proc::MemoryPiece> pieces;
  for (size_t i = 0; i < kCompared; i++) {
    // The part has kComparedSize bytes at least: part_of() has seen to it.
    uint64_t at = (part.length - kComparedSize) / (kCompared - 1) * i;
    // A file that is shorter than its headers say has no such code.
    if (read_at(file, part.file_offset + at, of_file[i]) != kComparedSize)
      return false;
    pieces.push_back({part.start + at, of_memory[i]});
  }
  if (!read_memory(pieces))
    return false;
  size_t telling = 0;
  for (size_t i = 0; i < kCompared; i++) {
    if (!pieces[i].is_read || !std::ranges::equal(of_file[i], of_memory[i]))
      return false;
    telling += tells_something(of_file[i]) ? 1 : 0;
  }
  // Most of the compared places must tell something, or padding would pass for code.
  return telling >= kCompared / 2;
}

void add_copies(const PlaceOfCopy& place, FileHelper& files,
                const proc::ReadMemory& read_memory, std::vector<RawMapping>& copies) {
  auto file = files.open_to_read(place.before);
  struct stat status {};
  if (!file || fstat(file->get(), &status) != 0)
    return;
  std::vector<LoadSegment> segments = read_contents(*file, status).image.segments;
  std::set<uint64_t> biases;
  // Neither neighbour alone is sure to lie in one segment, so that each possible bias is tried.
  add_biases(segments, place.before, biases);
  add_biases(segments, place.after, biases);
  size_t compared = 0;
  for (uint64_t bias : biases)
    for (const LoadSegment& segment : segments) {
      auto part = part_of(place, segment, bias);
      if (!part)
        continue;
      // A file that lies about its segments costs a bounded number of comparisons.
      if (compared++ == kMaxCompared)
        return;
      if (has_same_code(*part, file->get(), read_memory)) {
        copies.push_back(*std::move(part));
        return;
      }
    }
}

}  // namespace

std::vector<PlaceOfCopy> places_of_copies(std::span<const proc::MapsEntry> entries,
                                          uint32_t pid, uint64_t time) {
  std::vector<PlaceOfCopy> places;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (!is_code_without_file(*entry) || places.size() == kMaxPlacesOfCopies)
      continue;
    // A copy lies in the place of code, between two mappings of the same file.
    // Other memory without a file may lie in between.
    auto before = std::find_if(std::make_reverse_iterator(entry), entries.rend(), is_of_file);
    auto after = std::find_if(entry, entries.end(), is_of_file);
    bool is_between = before != entries.rend() && after != entries.end() &&
                      before->device == after->device && before->inode == after->inode;
    if (is_between)
      places.push_back({as_mapping(*entry, pid, time), as_mapping(*before, pid, time),
                        as_mapping(*after, pid, time)});
  }
  return places;
}

std::vector<RawMapping> copied_code(std::span<const PlaceOfCopy> places, FileHelper& files,
                                    const proc::ReadMemory& read_memory) {
  std::vector<RawMapping> copies;
  for (const PlaceOfCopy& place : places)
    add_copies(place, files, read_memory, copies);
  return copies;
}

}  // namespace gosym
