#include "elf/build_ids.h"

#include <sha2.h>

#include "base/reader.h"

namespace gosym::elf {

namespace {

constexpr uint32_t kGnuBuildId = 3;
constexpr uint32_t kGoBuildId = 4;
constexpr uint32_t kPackage = 0xcafe1a7e;

// Longer than any id in use: GNU ids have 8 to 64 bytes, Go's up to 83.
constexpr uint32_t kMaxIdSize = 4096;

uint64_t padding(uint64_t size) {
  return (4 - size % 4) % 4;
}

// Ids stand in the first notes. Segments and sections may all name the same bytes, so what is
// read in all is limited.
constexpr size_t kMaxNotes = 1 << 20;

void read_notes(Bytes notes, ByteOrder order, BuildIds& ids) {
  Reader in(notes, order);
  while (in.ok() && in.remaining() > 0) {
    uint32_t name_size = in.u32();
    uint32_t description_size = in.u32();
    uint32_t type = in.u32();
    std::string_view name = as_text(in.bytes(name_size));
    name = name.substr(0, name.find('\0'));  // Go's linker counts its padding in
    in.bytes(padding(name_size));
    std::string_view description = as_text(in.bytes(description_size));
    if (!in.ok())
      return;
    if (description_size <= kMaxIdSize) {
      if (type == kGnuBuildId && name == "GNU" && ids.gnu.empty())
        ids.gnu = description;
      if (type == kGoBuildId && name == "Go" && ids.go.empty())
        ids.go = description;
      if (type == kPackage && name == "FDO" && ids.package.empty())
        ids.package = description.substr(0, description.find('\0'));
    }
    // The last note may lack its padding.
    in.bytes(std::min<uint64_t>(padding(description_size), in.remaining()));
  }
}

}  // namespace

std::vector<FileExtent> note_extents(const Image& image) {
  std::vector<FileExtent> extents;
  uint64_t left = kMaxNotes;
  auto add = [&](uint64_t offset, uint64_t size) {
    if (size > left)
      return;
    extents.push_back({offset, size});
    left -= size;
  };
  for (const Segment& segment : image.segments)
    if (segment.type == PT_NOTE)
      add(segment.offset, segment.file_size);
  for (const Section& section : image.sections)
    if (section.type == SHT_NOTE)
      add(section.offset, section.size);
  return extents;
}

BuildIds build_ids(const Image& image) {
  BuildIds ids;
  for (const FileExtent& extent : note_extents(image))
    if (auto notes = slice(image.file, extent.offset, extent.size))
      read_notes(*notes, image.order, ids);
  return ids;
}

BuildIds build_ids(Bytes notes) {
  BuildIds ids;
  read_notes(notes, ByteOrder::kLittle, ids);
  return ids;
}

std::string store_id(const BuildIds& ids) {
  constexpr size_t kUsualSize = 20;
  if (!ids.gnu.empty() || ids.go.empty())
    return ids.gnu;
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const uint8_t*>(ids.go.data()), ids.go.size());
  SHA256Final(reinterpret_cast<uint8_t*>(digest.data()), &context);
  return digest.substr(0, kUsualSize);
}

}  // namespace gosym::elf
