#include <cassert>
#include <cstring>

#include "heap/heap_profile.h"

using namespace gosym;

// The memory of a program: its rate, its cycle, a word that leads to a list of buckets, and all
// that this leads to. No crash, no end of memory, and what is told holds together.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kBegin = 0x10000;
  proc::ReadMemory read_memory = [&](std::span<proc::MemoryPiece> pieces) -> Result<> {
    for (proc::MemoryPiece& piece : pieces) {
      uint64_t offset = piece.address - kBegin;
      piece.is_read = offset <= size && piece.bytes.size() <= size - offset;
      if (piece.is_read && !piece.bytes.empty())
        std::memcpy(piece.bytes.data(), data + offset, piece.bytes.size());
    }
    return Ok{};
  };
  for (const char* version : {"go1.15", "go1.26", "go1.27"}) {
    HeapRuntime runtime;
    runtime.layout = *go::heap_profile_layout(version);
    runtime.rate = {kBegin};
    runtime.cycle = {kBegin + 8};
    runtime.lists = runtime.memory_lists = {kBegin + 16, kBegin + 24};
    for (HeapTime time : {HeapTime::kCollection, HeapTime::kNow}) {
      auto read = read_heap_profile(runtime, time, read_memory);
      if (!read)
        continue;
      assert(!read->is_torn && read->buckets.size() <= size / 48);
      for (const HeapBucket& bucket : read->buckets) {
        assert(bucket.stack < read->stacks.size() && bucket.freed <= bucket.allocated);
        assert(read->stacks[bucket.stack].size() <= size / 8);
      }
    }
  }
  return 0;
}
