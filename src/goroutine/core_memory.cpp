#include "goroutine/core_memory.h"

#include <algorithm>

namespace gosym {

CoreMemory::CoreMemory(const elf::CoreFile& core) {
  for (const elf::Segment& segment : core.image.segments) {
    uint64_t start = to_integer(segment.address);
    if (segment.type != PT_LOAD || segment.memory_size > UINT64_MAX - start)
      continue;
    // A segment may have fewer bytes in the file than in memory, and a core that was cut short
    // fewer than it says.
    Bytes bytes = tail(core.image.file, segment.offset);
    uint64_t size = std::min({segment.file_size, segment.memory_size, uint64_t{bytes.size()}});
    segments_.push_back(
        {start, start + segment.memory_size, bytes.first(size), (segment.flags & PF_X) != 0});
  }
  std::ranges::sort(segments_, {}, &Range::start);
}

void CoreMemory::set_files(const std::vector<std::pair<uint64_t, Bytes>>& files) {
  files_.clear();
  for (const auto& [start, bytes] : files)
    if (bytes.size() <= UINT64_MAX - start)
      files_.push_back({start, start + bytes.size(), bytes, false});
  std::ranges::sort(files_, {}, &Range::start);
}

const CoreMemory::Range* CoreMemory::find(const std::vector<Range>& ranges, uint64_t address) {
  auto next = std::ranges::upper_bound(ranges, address, {}, &Range::start);
  bool is_there = next != ranges.begin() && address < std::prev(next)->limit;
  return is_there ? &*std::prev(next) : nullptr;
}

Bytes CoreMemory::in_core(uint64_t address) const {
  const Range* range = find(segments_, address);
  return range ? tail(range->bytes, address - range->start) : Bytes{};
}

bool CoreMemory::is_executable_at(uint64_t address) const {
  const Range* range = find(segments_, address);
  return range && range->is_executable;
}

Bytes CoreMemory::bytes_at(uint64_t address) const {
  // The core comes first: a process may have written over what it had mapped.
  if (Bytes bytes = in_core(address); !bytes.empty())
    return bytes;
  const Range* range = find(files_, address);
  return range ? tail(range->bytes, address - range->start) : Bytes{};
}

void CoreMemory::read(std::span<proc::MemoryPiece> pieces) const {
  for (proc::MemoryPiece& piece : pieces) {
    std::span<std::byte> room = piece.bytes;
    uint64_t address = piece.address;
    // A piece may lie in several segments that follow one another.
    while (!room.empty()) {
      Bytes bytes = bytes_at(address);
      size_t size = std::min(bytes.size(), room.size());
      if (size == 0)
        break;
      std::ranges::copy(bytes.first(size), room.begin());
      room = room.subspan(size);
      address += size;
    }
    piece.is_read = room.empty();
  }
}

}  // namespace gosym
