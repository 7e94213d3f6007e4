#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/unique_fd.h"

namespace gosym {

// A part of a BPF map in our memory: it is read without a system call, and without a right.
class MappedPart {
public:
  MappedPart() = default;  // nothing
  // False, and errno says why, if it cannot be mapped.
  MappedPart(int map, size_t size, int protection, size_t offset = 0);
  MappedPart(MappedPart&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), size_(other.size_) {}
  MappedPart& operator=(MappedPart&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedPart() {
    if (at_)
      munmap(at_, size_);
  }

  explicit operator bool() const { return at_ != nullptr; }
  std::byte* get() const { return at_; }

private:
  std::byte* at_ = nullptr;
  size_t size_ = 0;
};

// A map of type BPF_MAP_TYPE_RINGBUF, of so many bytes, a power of two. None, and errno says
// why, if it cannot be created.
UniqueFd create_ring(uint32_t size);

// One that BPF programs write records to, and this reads.
class BpfRing {
public:
  // None, and errno says why, if it cannot be mapped.
  static std::optional<BpfRing> map(UniqueFd ring, uint32_t size);

  int fd() const { return map_.get(); }

  // Hands over what is there by now, and makes room: what comes meanwhile is left, or one who
  // writes as fast as this reads would keep us here for good.
  void consume(const std::function<void(Bytes)>& take);

private:
  BpfRing(UniqueFd map, uint32_t size, MappedPart read, MappedPart written)
      : map_(std::move(map)),
        size_(size),
        read_(std::move(read)),
        written_(std::move(written)) {}

  UniqueFd map_;
  uint32_t size_;
  MappedPart read_;     // position up to which it was read
  MappedPart written_;  // position up to which it was written; next page: the records, twice
};

}  // namespace gosym
