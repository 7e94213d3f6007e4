#include <cassert>

#include "heap/heap_profile.h"
#include "memory.h"

using namespace gosym;

// The memory of a program: its rate, its cycle, a word that leads to a list of buckets, and all
// that this leads to. No crash, no end of memory, and what is told holds together.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  proc::ReadMemory read_memory = memory_of(data, size);
  HeapRuntime lists;
  lists.lists = {kMemoryBegin + 16, kMemoryBegin + 24};
  for (go::BucketKind kind : {go::BucketKind::kBlocking, go::BucketKind::kMutexes})
    if (auto read = read_contention_profile(lists, kind, read_memory))
      for (const ContentionBucket& bucket : read->buckets)
        assert(bucket.stack < read->stacks.size() && bucket.count > 0);
  for (const char* version : {"go1.15", "go1.26", "go1.27"}) {
    HeapRuntime runtime;
    runtime.layout = *go::heap_profile_layout(version);
    runtime.rate = {kMemoryBegin};
    runtime.cycle = {kMemoryBegin + 8};
    runtime.lists = runtime.memory_lists = {kMemoryBegin + 16, kMemoryBegin + 24};
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
