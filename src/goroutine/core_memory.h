#pragma once

#include <vector>

#include "elf/core_file.h"
#include "proc/process.h"

namespace gosym {

// Memory of a process when its core was written, put together from the core and, for what was
// only read from files and so left out, from those.
class CoreMemory {
public:
  explicit CoreMemory(const elf::CoreFile& core);

  // Bytes of files by the address that they were mapped at. They count where the core has none.
  void set_files(const std::vector<std::pair<uint64_t, Bytes>>& files);

  // Bytes of the core itself from an address on; empty if it has nothing there.
  Bytes in_core(uint64_t address) const;
  // True if the address was mapped as code.
  bool is_executable_at(uint64_t address) const;

  // See proc::ReadMemory.
  void read(std::span<proc::MemoryPiece> pieces) const;

private:
  struct Range {
    uint64_t start;
    uint64_t limit;
    Bytes bytes;  // as many of the range's bytes as are known
    bool is_executable;
  };
  static const Range* find(const std::vector<Range>& ranges, uint64_t address);
  Bytes bytes_at(uint64_t address) const;

  std::vector<Range> segments_;  // by address
  std::vector<Range> files_;     // likewise
};

}  // namespace gosym
