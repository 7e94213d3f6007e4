#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "go/module.h"

namespace gosym::go {

// The way that the runtime of a Go version keeps its profiles of memory, of blocking and of
// mutexes, on machines of 64 bits. Each is a list of buckets, one for each stack, and in that
// of memory for each size of objects as well. Buckets are never freed, and all that stands
// before their record never changes:
//
//   bucket   0 next bucket of the same hash
//            8 next bucket of the list, which was made before
//           16 kind: 1 memory, 2 blocking, 3 mutexes
//           24 hash of the stack and the size
//           32 size of the objects, in bytes
//           40 number of addresses of the stack; behind it these: return addresses, innermost
//              first; behind them the record
//   record   of memory: what is published, and behind it what three cycles of the
//            collector have counted that are not yet; each is how many were allocated and
//            how many were freed, and up to Go 1.26 of both the bytes as well
//            of blocking and mutexes: how many waits (f64) and how long they were together
//            (i64), in ticks of the processor's clock. From Go 1.20 on both are made up for
//            what was not looked at
//   cycle    u32: counts the collections; from Go 1.19 on two times that, and 1 for what was
//            published
//
// Objects that are allocated count for the cycle after the next, those that are freed for the
// next: cycle number modulo 3 is which of the three. What a collection found is in the cycle
// with its number, which is published soon after.
struct HeapProfileLayout {
  uint8_t words_of_count = 0;  // words that are published, or of one cycle: 2 or 4
  uint8_t cycle_shift = 0;     // bits of `cycle` below the number
};

inline constexpr uint64_t kBucketNext = 8;  // offsets
inline constexpr uint64_t kBucketKind = 16;
inline constexpr uint64_t kBucketHash = 24;
inline constexpr uint64_t kBucketSize = 32;
inline constexpr uint64_t kBucketStackSize = 40;
inline constexpr uint64_t kBucketStack = 48;

enum class BucketKind : uint64_t { kMemory = 1, kBlocking = 2, kMutexes = 3 };

inline constexpr uint32_t kFirstHeapMinor = 15;  // Go 1.15
// Profiles of waits are read from here on: before, those of mutexes are to be multiplied by a
// rate.
inline constexpr uint32_t kFirstContentionMinor = 20;
inline constexpr uint32_t kLastHeapMinor = 27;  // the newest release that was looked at

// None for older versions, and for versions whose layout is not known.
std::optional<HeapProfileLayout> heap_profile_layout(std::string_view go_version);

// The runtime's hash of a stack and a size, by which a bucket is found.
uint64_t bucket_hash(Bytes stack, uint64_t size);

// Places where the variables may lie that lead to it; each has few, as a rule one. They are
// found by the functions that use them (code_operands.h).
struct HeapProfileVariables {
  // Lists: the word that points to the first bucket. The kind of that tells which list it is.
  std::vector<ImageAddress> lists;
  // The lists that can be the one of memory; 0 there means that it is empty.
  std::vector<ImageAddress> memory_lists;
  std::vector<ImageAddress> rate;   // runtime.MemProfileRate, a word
  std::vector<ImageAddress> cycle;  // u32
  // The function that makes the profile for the program is linked: else, from Go 1.17 on, none
  // is kept.
  bool is_used = false;
};
HeapProfileVariables find_heap_profile(const Module& module);

}  // namespace gosym::go
