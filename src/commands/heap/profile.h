#pragma once

#include "commands/goroutines/source.h"
#include "heap/heap_profile.h"
#include "profile/profile.h"

namespace gosym {

// Instead of memory: what goroutines waited for, of which the runtime can keep profiles, too.
enum class HeapWaits : uint8_t { kNone, kBlocking, kMutexes };

// The choices by which a heap profile is shown.
struct HeapView {
  HeapWaits waits = HeapWaits::kNone;
  HeapTime time = HeapTime::kCollection;
  bool is_allocated = false;  // all that was allocated comes first, or else what is in use
  bool has_objects =
      false;  // their number comes first, or else their bytes; of waits their time
  bool has_system = false;  // the runtime's own functions as well
};

// The profile as that of /debug/pprof/heap is: with the events alloc_objects, alloc_space,
// inuse_objects and inuse_space, that which the view is of first, and the size of the objects
// as the label "bytes". `file` is the program's.
Profile profile_of(const HeapProfile& heap, const HeapView& view, const GoFile& file,
                   const GoroutineSource& source);

// The profile as that of /debug/pprof/block or mutex is: with the events contentions and delay,
// of a core file without the latter.
Profile profile_of(const ContentionProfile& waits, const HeapView& view, const GoFile& file,
                   const GoroutineSource& source);

}  // namespace gosym
