#include "record/files/sparse_copy.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/mapped_file.h"
#include "elf/build_ids.h"

namespace gosym {

namespace {

constexpr uint64_t kMaxRead = 8 << 20;

// In all: tables of sections as large as they can be, with as many bytes of names and notes.
constexpr uint64_t kMaxTotal = 16 << 20;

// The ELF header, as a rule with the program headers and the notes behind it.
constexpr uint64_t kUsualHeaders = 4096;

}  // namespace

Result<SparseCopy> SparseCopy::open(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0)
    return system_error("cannot be read", errno);
  if (!S_ISREG(status.st_mode))
    return Error("not a regular file");
  auto size = static_cast<size_t>(status.st_size);
  if (size == 0)
    return Error("empty");
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return system_error("cannot be read", errno);
  return SparseCopy(fd, static_cast<std::byte*>(memory), size, kMaxTotal);
}

SparseCopy::SparseCopy(SparseCopy&& other) noexcept
    : fd_(other.fd_),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_),
      left_(other.left_) {}

SparseCopy::~SparseCopy() {
  if (memory_)
    munmap(memory_, size_);
}

void SparseCopy::read(elf::FileExtent extent) {
  if (extent.offset >= size_ || extent.size > kMaxRead)
    return;
  uint64_t size = std::min<uint64_t>(extent.size, size_ - extent.offset);
  if (size > left_)
    return;
  left_ -= size;
  // The rest stays zero if the file was cut short meanwhile.
  read_at(fd_, extent.offset, {memory_ + extent.offset, size});
}

Bytes SparseCopy::look(elf::FileExtent extent, std::span<std::byte> buffer) const {
  return buffer.first(read_at(fd_, extent.offset,
                              buffer.first(std::min<uint64_t>(extent.size, buffer.size()))));
}

Result<elf::Image> SparseCopy::read_image() {
  read({.offset = 0, .size = kUsualHeaders});
  // The second time, where the names of sections lie is known.
  for (int i = 0; i < 2; i++)
    for (const elf::FileExtent& table : elf::header_tables(bytes()))
      read(table);
  auto image = elf::parse(bytes());
  if (image)
    for (const elf::FileExtent& notes : elf::note_extents(*image))
      read(notes);
  return image;
}

}  // namespace gosym
