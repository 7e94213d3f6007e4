#include "dwarf/plain_file.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/reader.h"
#include "base/text.h"
#include "dwarf/section_file.h"

namespace gosym::dwarf {

namespace {

// The most that the sections may unpack to: all of them a few times what the largest programs
// have, and each so many times its size.
constexpr uint64_t kMaxUnpacked = uint64_t{4} << 30;
constexpr uint64_t kMaxRatio = 64;

constexpr uint32_t kZlib = 1;  // ELFCOMPRESS_ZLIB
constexpr uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD, which glibc 2.36 does not know

// The sections .debug_* that are read, by what libdw asks of them, and those of packages. In
// order, for a binary search.
constexpr auto kRead = std::to_array<std::string_view>(
    {"abbrev", "abbrev.dwo", "addr", "cu_index", "info", "info.dwo", "line", "line.dwo",
     "line_str", "ranges", "rnglists", "rnglists.dwo", "str", "str.dwo", "str_offsets",
     "str_offsets.dwo", "types"});

constexpr std::string_view kPlain = ".debug_";
constexpr std::string_view kPacked = ".zdebug_";
constexpr std::string_view kPackedBegin = "ZLIB";

// A section as it lies in the file.
struct Stored {
  std::string name;      // that of the plain section
  uint32_t packing = 0;  // 0: none
  Bytes bytes;
  uint64_t size = 0;  // unpacked
};

bool is_packed(const elf::Section& section) {
  return (section.flags & SHF_COMPRESSED) != 0 || section.name.starts_with(kPacked);
}

bool is_of_debugging(const elf::Section& section) {
  return section.type != SHT_NOBITS &&
         (section.name.starts_with(kPlain) || section.name.starts_with(kPacked));
}

Result<Stored> find_stored(const elf::Image& image, const elf::Section& section) {
  // Sections were named .zdebug_* before SHF_COMPRESSED: "ZLIB" and a size in big endian. One
  // that does not begin so is not packed.
  bool is_old = section.name.starts_with(kPacked);
  std::string_view last = section.name.substr((is_old ? kPacked : kPlain).size());
  Stored stored = {.name = std::string(kPlain).append(last),
                   .bytes = slice(image.file, section.offset, section.size).value_or(Bytes{})};
  stored.size = stored.bytes.size();
  Reader in(stored.bytes, image.order);
  if ((section.flags & SHF_COMPRESSED) != 0) {
    stored.packing = in.u32();
    // The header of a compressed section (Elf32_Chdr, Elf64_Chdr): type, padding in 64-bit
    // files, size, alignment.
    in.bytes(image.pointer_size - 4);
    stored.size = in.word(image.pointer_size);
    in.word(image.pointer_size);
    if (!in.ok() || (stored.packing != kZlib && stored.packing != kZstd))
      return errorf("{}: packed in a way that is not known (type {})", printable(stored.name),
                    stored.packing);
  } else if (is_old && as_text(stored.bytes).starts_with(kPackedBegin)) {
    stored.packing = kZlib;
    in.bytes(kPackedBegin.size());
    stored.size = load<uint64_t>(stored.bytes, 4, ByteOrder::kBig).value_or(0);
    in.bytes(8);
  }
  stored.bytes = tail(stored.bytes, in.offset());
  // The size that is claimed is allocated before anything is unpacked.
  if (stored.size > kMaxUnpacked || stored.size / kMaxRatio > stored.bytes.size())
    return errorf("{}: {} bytes are said to unpack to {}", printable(stored.name),
                  stored.bytes.size(), stored.size);
  return stored;
}

// Writes all `stored.size` bytes to `to`, which has room for them, or fails.
Result<> unpack(const Stored& stored, std::byte* to) {
  size_t size = 0;
  bool is_whole = false;
  if (stored.packing == kZstd) {
    size = ZSTD_decompress(to, stored.size, stored.bytes.data(), stored.bytes.size());
    is_whole = ZSTD_isError(size) == 0;
  } else if (stored.packing == kZlib) {
    uLongf made = stored.size;
    is_whole = uncompress(reinterpret_cast<Bytef*>(to), &made,
                          reinterpret_cast<const Bytef*>(stored.bytes.data()),
                          stored.bytes.size()) == Z_OK;
    size = made;
  } else {
    std::ranges::copy(stored.bytes, to);
    return Ok{};
  }
  return is_whole && size == stored.size
             ? Result<>(Ok{})
             : errorf("{}: damaged, it cannot be unpacked", printable(stored.name));
}

// Each once: of two with one name the first counts.
Result<std::vector<Stored>> read_sections_of(const elf::Image& image) {
  std::vector<Stored> sections;
  for (const elf::Section& section : image.sections) {
    if (!is_of_debugging(section))
      continue;
    // A section counts by its plain name: .debug_info and .zdebug_info are the same one. Both
    // names have an underscore (is_of_debugging()).
    std::string_view last = section.name.substr(section.name.find('_') + 1);
    bool is_wanted = std::ranges::binary_search(kRead, last);
    bool is_known = std::ranges::any_of(sections, [&](const Stored& known) {
      return known.name.substr(kPlain.size()) == last;
    });
    if (!is_wanted || is_known)
      continue;
    auto stored = find_stored(image, section);
    if (!stored)
      return std::move(stored).error();
    sections.push_back(*std::move(stored));
  }
  return sections;
}

}  // namespace

// A packed section that is not read counts, too: libdw unpacks all that it knows as soon as it
// opens a file.
bool has_packed_sections(const elf::Image& image) {
  return std::ranges::any_of(image.sections, [](const elf::Section& section) {
    return is_of_debugging(section) && is_packed(section);
  });
}

Result<PlainFile> PlainFile::make(const elf::Image& image) {
  auto sections = read_sections_of(image);
  if (!sections)
    return std::move(sections).error();
  PlainFile file;
  file.file_ = image.file;
  for (const Stored& section : *sections)
    file.debug_size_ += section.size;
  if (file.debug_size_ > kMaxUnpacked)
    return errorf("its debugging information is said to unpack to {} bytes", file.debug_size_);
  // libdw takes no file that has only texts, as dwz makes them; one with call frames it does.
  bool has_units = std::ranges::any_of(
      *sections, [](const Stored& section) { return section.name.starts_with(".debug_info"); });
  if (!has_packed_sections(image) && (has_units || sections->empty()))
    return file;
  // libdw gets a file in memory with these sections alone; the plain ones are copied as well,
  // as it takes one file.
  SectionFile made(image);
  for (const Stored& section : *sections)
    made.add(section.name, section.size);
  if (!has_units)
    made.add(".debug_frame", 1);
  made.finish();
  if (!has_units)
    // The byte of .debug_frame, which was added last.
    *made.contents(sections->size()) = {};
  // Unpacked right into the place in the new file: no unpacked section is held twice.
  for (size_t i = 0; i < sections->size(); i++)
    if (auto done = unpack((*sections)[i], made.contents(i)); !done)
      return std::move(done).error();
  file.unpacked_ = made.take();
  file.file_ = {file.unpacked_.get(), made.size()};
  return file;
}

}  // namespace gosym::dwarf
