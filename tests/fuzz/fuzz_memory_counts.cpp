#include <cassert>
#include <cstring>

#include "heap/memory_counts.h"
#include "proc/maps.h"

using namespace gosym;

// The memory of a program, from the variables on that count it, one behind the other; and the
// same bytes as text of smaps. No crash, no end of memory, and what is told holds together.
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
  MemoryRuntime runtime = {
      .layout = *go::memory_layout("go1.26"), .statistics = kBegin, .collector = kBegin + 7712};
  runtime.heap = runtime.collector + 256 - runtime.layout.spans;
  if (auto read = read_memory_counts(runtime, read_memory)) {
    assert(read->pauses.size() <= 256 && read->span_count <= size);
    assert(read->object_bytes <= read->span_bytes && read->free_spans() <= read->committed);
  }
  for (const proc::MemoryUse& use :
       proc::parse_smaps({reinterpret_cast<const char*>(data), size}))
    assert(use.resident % 1024 == 0);
  return 0;
}
