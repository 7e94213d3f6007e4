#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "elf/image.h"

namespace gosym::dwarf {

// True if PlainFile::make() would have to unpack some of it.
bool has_packed_sections(const elf::Image& image);

// A file with debugging information none of whose sections is compressed: the file itself, or,
// of one that has compressed ones or nothing but texts, an ELF file in memory of those sections
// that names, lines and inlined calls are read from. The others, as of the places of variables,
// are often larger, and stay packed.
//
//   SHF_COMPRESSED:  u32 type (1: zlib, 2: zstd), in 64-bit files u32 0, word size,
//                    word alignment
//   .zdebug_*:       "ZLIB", u64 size, big-endian; then zlib
class PlainFile {
public:
  // The image borrows from its file, which must outlive this. Fails for sections that
  // are packed in another way, damaged, or larger than any program's, and where the header
  // tells of more bytes than such a section could make.
  static Result<PlainFile> make(const elf::Image& image);

  Bytes bytes() const { return file_; }
  // Its sections of debugging information, unpacked.
  uint64_t debug_size() const { return debug_size_; }

private:
  Bytes file_;
  uint64_t debug_size_ = 0;
  std::unique_ptr<std::byte[]> unpacked_;  // null: nothing was packed
};

}  // namespace gosym::dwarf
