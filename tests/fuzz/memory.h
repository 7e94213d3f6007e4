#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "proc/process.h"

namespace gosym {

// The bytes of an input as the memory of a program, from this address on. They must outlive
// what is given.
inline constexpr uint64_t kMemoryBegin = 0x10000;
inline proc::ReadMemory memory_of(const uint8_t* data, size_t size) {
  return [data, size](std::span<proc::MemoryPiece> pieces) -> Result<> {
    for (proc::MemoryPiece& piece : pieces) {
      uint64_t offset = piece.address - kMemoryBegin;
      piece.is_read = offset <= size && piece.bytes.size() <= size - offset;
      if (piece.is_read && !piece.bytes.empty())
        std::memcpy(piece.bytes.data(), data + offset, piece.bytes.size());
    }
    return Ok{};
  };
}

}  // namespace gosym
