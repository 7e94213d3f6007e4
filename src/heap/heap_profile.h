#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/sequence_pool.h"
#include "go/heap_profile_layout.h"
#include "proc/process.h"

namespace gosym {

// The runtime of a program that has a heap profile. Addresses are those that it
// runs at.
struct HeapRuntime {
  go::HeapProfileLayout layout;
  std::vector<uint64_t> lists;  // as go::HeapProfileVariables has them
  std::vector<uint64_t> memory_lists;
  std::vector<uint64_t> rate;
  std::vector<uint64_t> cycle;
  bool is_used = true;
};

// Objects of one size that one stack allocated, of those that were sampled.
struct HeapBucket {
  uint32_t stack = 0;  // number in HeapProfile::stacks
  uint64_t size = 0;   // of an object, in bytes
  uint64_t allocated = 0;
  uint64_t freed = 0;

  bool operator==(const HeapBucket&) const = default;
};

enum class HeapTime : uint8_t {
  kCollection,  // as the last collection that is complete left it: what pprof shows
  kNow,         // what was freed since the last collection is not known yet
};

// Go's own heap profile.
struct HeapProfile {
  uint64_t rate = 0;  // bytes from one sample to the next, on average; 0: not sampled any more
  uint64_t collections = 0;
  // Nothing is published yet: all that was allocated so far, as pprof has it then.
  bool is_before_first = false;
  bool is_torn = false;  // it changed each time that it was read, and may not be of one moment
  std::vector<HeapBucket> buckets;  // those of which something was counted
  // Return addresses, innermost first. An inlined call has one of its own.
  SequencePool<uint64_t> stacks;
};

// Reads it from the memory of a program that goes on running, or of a core file. It is read
// twice, and again if what was published changed in between.
//
// Whatever the memory holds is taken for hostile: what is read, and what it takes, is bounded.
// Fails if there is no profile where it should be, or if the program keeps none.
Result<HeapProfile> read_heap_profile(const HeapRuntime& runtime, HeapTime time,
                                      const proc::ReadMemory& read_memory);

// Waits that one stack made others do, of mutexes, or had itself, of blocking.
struct ContentionBucket {
  uint32_t stack = 0;  // number in ContentionProfile::stacks
  uint64_t count = 0;  // of waits
  uint64_t ticks = 0;  // how long they were together

  bool operator==(const ContentionBucket&) const = default;
};

// Go's own profile of mutexes or of blocking, since the program began. An inlined call may have
// an address of its own, behind that of what it called, or may share that one.
struct ContentionProfile {
  std::vector<ContentionBucket> buckets;
  SequencePool<uint64_t> stacks;  // return addresses, innermost first
};

// Reads it as read_heap_profile() reads that of memory, but once: waits are counted all the
// time, and each bucket is right by itself, but for a wait that just ended. Fails if it is
// empty as well: the program keeps none, or nobody has waited.
Result<ContentionProfile> read_contention_profile(const HeapRuntime& runtime,
                                                  go::BucketKind kind,
                                                  const proc::ReadMemory& read_memory);

// The number of objects there are, and bytes of them, by how many were sampled: as the
// runtime computes it.
struct HeapAmount {
  uint64_t objects = 0;
  uint64_t bytes = 0;
};
HeapAmount scaled_up(uint64_t sampled, uint64_t size, uint64_t rate);

}  // namespace gosym
