#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "go/memory_layout.h"
#include "proc/process.h"

namespace gosym {

// The places where a program's runtime counts its memory, as it runs.
struct MemoryRuntime {
  go::MemoryLayout layout;
  uint64_t statistics = 0;
  uint64_t collector = 0;
  uint64_t heap = 0;
};

// The spans whose objects have one size, or are large: an object to a span.
struct SizeClass {
  uint64_t spans = 0;
  uint64_t objects = 0;
  uint64_t taken = 0;  // bytes of these
  uint64_t bytes = 0;  // of the spans

  uint64_t free() const { return bytes - taken; }
};

// The counts of the runtime, in bytes.
struct MemoryCounts {
  // In the arenas: all that the system gave and did not get back, and parts of it.
  uint64_t committed = 0;
  uint64_t in_spans = 0;   // that have objects
  uint64_t in_stacks = 0;  // of goroutines
  uint64_t in_work = 0;    // of the collector: work buffers and bitmaps
  // In other memory, for the runtime itself.
  uint64_t for_spans = 0;
  uint64_t for_profiles = 0;
  uint64_t for_collector = 0;
  uint64_t for_others = 0;
  // Read from the spans.
  uint64_t span_count = 0;
  uint64_t span_bytes = 0;       // of spans with objects
  uint64_t object_bytes = 0;     // of all slots that are taken
  uint64_t manual_bytes = 0;     // of those for stacks and the collector
  std::vector<uint64_t> arenas;  // 64 MiB each, by number
  // By the size of an object; UINT64_MAX: larger than kLargestSlot.
  std::map<uint64_t, SizeClass> classes;

  std::optional<int32_t> gc_percent;  // none: off
  std::optional<uint64_t> limit;      // none: none
  uint64_t live = 0;                  // in use, or it was when it was marked
  uint64_t marked = 0;                // by the last collection
  std::optional<uint64_t> goal;  // where GOGC wants the next collection to end; none: never
  uint32_t collections = 0;
  uint32_t forced = 0;           // of them: asked for by the program
  uint64_t last_collection = 0;  // nanoseconds since 1970; 0: none yet
  uint64_t pause_total = 0;      // nanoseconds
  std::vector<uint64_t> pauses;  // the last ones, 256 at most
  double cpu_share = 0;          // 0 to 1, of all CPU time since it began, for collecting

  bool is_torn = false;  // the spans and the counts never agreed, as the program went on
  // Memory that is committed, and in no span.
  uint64_t free_spans() const {
    uint64_t used = in_spans + in_stacks + in_work;
    return committed > used ? committed - used : 0;
  }
};

inline constexpr uint64_t kArenaSize = 64 << 20;
inline constexpr uint64_t kLargestSlot = 32 << 10;  // in spans with several objects

// Reads them from the memory of a program that goes on running, or of a core file. What the
// spans add up to has to be what the runtime counted, or nearly so: else it is read again, and
// where it is far from it this fails. Whatever the memory holds is taken for hostile.
Result<MemoryCounts> read_memory_counts(const MemoryRuntime& runtime,
                                        const proc::ReadMemory& read_memory);

}  // namespace gosym
