#pragma once

#include <vector>

#include "elf/core_file.h"
#include "proc/memory.h"

namespace gosym {

// What the memory of a process held when its core was written, put together from the core and,
// where that left out what was only read from files, from those.
class CoreMemory {
public:
  explicit CoreMemory(const elf::CoreFile& core);

  // Bytes of files by the address that they were mapped at. They count where the core has none.
  void set_files(const std::vector<std::pair<uint64_t, Bytes>>& files);

  // What the core itself has from an address on; empty if it has nothing there.
  Bytes in_core(uint64_t address) const;
  // Whether the address was mapped as code.
  bool is_executable_at(uint64_t address) const;

  // As proc::ReadMemory does it.
  void read(std::span<proc::MemoryPiece> pieces) const;

private:
  struct Range {
    uint64_t start;
    uint64_t limit;
    Bytes bytes;  // as many of it as are known
    bool is_executable;
  };
  static const Range* find(const std::vector<Range>& ranges, uint64_t address);
  Bytes bytes_at(uint64_t address) const;

  std::vector<Range> segments_;  // by address
  std::vector<Range> files_;     // likewise
};

}  // namespace gosym
