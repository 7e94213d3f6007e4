#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"

namespace gosym::proc {

// A piece of the memory of a process, to be copied to `bytes`.
struct MemoryPiece {
  uint64_t address = 0;
  std::span<std::byte> bytes;
  bool is_read = false;  // all of it; set by whoever reads
};

// Reads pieces in their order. A piece that is not mapped, or not wholly, stays unread. An
// error: the process is gone, or may not be looked into.
using ReadMemory = std::function<Result<>(std::span<MemoryPiece> pieces)>;

// Pieces that one system call reads: those of a process that runs on are read within
// microseconds of each other if no multiple of this is among their numbers.
inline constexpr size_t kPiecesAtOnce = 1023;

// Reads a running process, by process_vm_readv(2), which neither stops nor signals it. It may
// take for ever: record/memory_helper.h does it in a process that may be left behind. Gives 0,
// or the errno because of which no piece can be read.
int try_read_memory(uint32_t pid, std::span<MemoryPiece> pieces);
Error memory_error(uint32_t pid, int error);

}  // namespace gosym::proc
