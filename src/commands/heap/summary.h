#pragma once

#include <string>

#include "commands/goroutines/source.h"
#include "heap/memory_counts.h"

namespace gosym {

// Memory of a process as the kernel has it, in bytes.
struct ResidentMemory {
  uint64_t total = 0;
  uint64_t swapped = 0;
  uint64_t arenas = 0;   // of Go's heap
  uint64_t runtime = 0;  // that is Go's as well, as far as that can be told
  uint64_t files = 0;
  uint64_t others = 0;
  bool has_c = false;  // C code is in the process: what else has no file may be anybody's
};

// The uses of a program's memory.
struct MemorySummary {
  std::string program;
  std::string go_version;
  uint32_t pid = 0;
  uint64_t realtime_ns = 0;  // when it was read
  MemoryCounts counts;
  std::optional<ResidentMemory> resident;  // none: of a core file
};

// Reads it of the first Go runtime in the process that can be read.
Result<MemorySummary> read_memory_summary(const GoroutineSource& source);

// One screen for people.
std::string text_of(const MemorySummary& summary);
// gosym-heap(1) has its keys.
std::string json_of(const MemorySummary& summary);

// Objects by their sizes.
std::string classes_text_of(const MemorySummary& summary);
std::string classes_json_of(const MemorySummary& summary);

// Facts that are unusual for a program, a clause each; empty: none.
std::vector<std::string> unusual_in(const MemorySummary& summary);

}  // namespace gosym
