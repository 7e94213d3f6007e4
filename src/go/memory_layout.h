#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "go/module.h"

namespace gosym::go {

// The places where the runtime of a Go version counts its memory, on machines of 64 bits:
// offsets in three of its variables and in a span. They were read from the DWARF of programs of
// each version, from Go 1.19 on.
//
//   memstats      0 three sets of counts that together are what there is (heapStats), each of
//                   words: committed, released, in spans of objects, in stacks, in work buffers
//                 `statistics` words: what the runtime has from the system for itself: stacks,
//                   spans, caches, profiles, the collector, others; then last_gc_unix, the sum
//                   of all pauses, the last 256 pauses and 256 times, all of these in
//                   nanoseconds
//                 behind them u32: the number of collections, u32: those that were asked
//                   for, f64: the share of CPU time that they took
//   gcController  0 i32: GOGC, or below 0: off;  8 i64: GOMEMLIMIT
//                 `live` u64: bytes that are in use or were when they were marked;
//                 `marked` u64: those of the last collection;
//                 `goal` u64: where GOGC has the next one end
//   mheap         `spans`: a slice of pointers to all spans, those that are not in use included
//   span          24 address; 32 number of pages of 8 KiB; allocCount u16, state u8 3 bytes on
//                   and size of its objects 8 bytes on, from `span_count` on
struct MemoryLayout {
  uint16_t count_set = 0;  // bytes of each set
  uint16_t statistics = 0;
  uint16_t live = 0;
  uint16_t marked = 0;
  uint16_t goal = 0;
  uint32_t spans = 0;
  uint32_t sweep = 0;  // of mheap, a u32 that tells where the variable is
  uint16_t span_count = 0;
  bool has_bitmaps = false;  // the sets count bitmaps of pointers as well, behind work buffers

  uint32_t pauses() const { return statistics + 8U * 8; }
  uint32_t collections() const { return pauses() + 2U * 256 * 8; }
};

inline constexpr uint64_t kGoPage = 8192;
inline constexpr uint32_t kFirstMemoryMinor = 19;  // Go 1.19
inline constexpr uint32_t kLastMemoryMinor = 27;   // the newest release that was looked at

// None for versions before that, and for those that nobody has looked at.
std::optional<MemoryLayout> memory_layout(std::string_view go_version);

// The variables, by the functions that use them (code_operands.h); none: the code
// does not tell.
struct MemoryVariables {
  std::optional<ImageAddress> statistics;  // memstats
  std::optional<ImageAddress> collector;   // gcController
  std::optional<ImageAddress> heap;        // mheap_
};
MemoryVariables find_memory_variables(const Module& module, const MemoryLayout& layout);

}  // namespace gosym::go
