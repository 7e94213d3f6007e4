#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "elf/image.h"

namespace gosym {

// A copy of the parts of a file that were read, each at its place, with zeros between them. It
// is memory of our own: whoever's code is sampled may cut his file short, and what was found in
// a mapping of it would be there no more. It takes as much memory as was read.
class SparseCopy {
public:
  // `fd` stays the caller's and must outlive the copy.
  static Result<SparseCopy> open(int fd);
  SparseCopy(SparseCopy&& other) noexcept;
  SparseCopy& operator=(SparseCopy&&) = delete;
  ~SparseCopy();

  // Copies the part of the extent that lies in the file, 8 MiB at most: the largest table of
  // sections that an ELF header can announce takes 4. Of one file 16 MiB are read at most, in
  // all.
  void read(elf::FileExtent extent);
  // Reads into a buffer and not into the copy: for what is only looked through. Gives the part
  // that lies in the file and fits.
  Bytes look(elf::FileExtent extent, std::span<std::byte> buffer) const;
  // The image that these bytes are, with its headers, the names of its sections and its notes
  // read; it borrows from them.
  Result<elf::Image> read_image();
  Bytes bytes() const { return {memory_, size_}; }

private:
  SparseCopy(int fd, std::byte* memory, size_t size, uint64_t left)
      : fd_(fd), memory_(memory), size_(size), left_(left) {}

  int fd_;
  std::byte* memory_;
  size_t size_;
  uint64_t left_;  // bytes that may still be read into it
};

}  // namespace gosym
