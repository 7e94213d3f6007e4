#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/sequence_pool.h"
#include "profile/profile.h"

namespace gosym {

// Puts other stacks in the place of those of a profile: stack i becomes number new_stacks[i] of
// `stacks`. Samples that have become equal are added up, and locations that no stack passes
// through any more are dropped.
void replace_stacks(Profile& profile, SequencePool<LocationId> stacks,
                    std::span<const uint32_t> new_stacks);

// Likewise, with a function that appends the new locations of a stack to a vector.
template <class Append>
void rewrite_stacks(Profile& profile, Append append) {
  SequencePool<LocationId> stacks;
  std::vector<uint32_t> new_stacks;
  std::vector<LocationId> locations;
  for (uint32_t i = 0; i < profile.stack_count(); i++) {
    locations.clear();
    append(StackId{i}, locations);
    new_stacks.push_back(stacks.intern(locations));
  }
  replace_stacks(profile, std::move(stacks), new_stacks);
}

// SampleCount::state of threads that Go's runtime keeps for work to come, and of its
// watchman: they sleep because there is nothing to do, whatever the program waits for.
inline constexpr std::string_view kIdleThread = "idle thread of Go's runtime";

// Says so of the waits of such threads.
void label_idle_threads(Profile& profile);

// Leaves these waits out, and counts in Profile::idle_ns what they came to; not if nothing else
// is there.
void leave_out_idle_threads(Profile& profile);

// Samples of this event are threads that waited.
inline bool is_of_waits(const RecordedEvent& event) {
  return event.measure == Measure::kWaiting;
}

// Finds the function that a stack waited in, for people: the kernel and Go's runtime are where
// every wait ends, whatever it is for. The innermost frame that is of neither; where there is
// none, the innermost one that is not the kernel's; of the kernel's own threads the innermost.
class WaitFrames {
public:
  explicit WaitFrames(const Profile& profile);

  struct Place {
    size_t location;  // index in the stack
    uint32_t depth;   // of the frame in that, as Profile::frames_of() has them
  };
  // `stack` is not empty.
  Place find(std::span<const LocationId> stack) const;
  // The depth of the frame, where the location has it. All that waited there waited in that
  // one.
  uint32_t depth(LocationId location) const { return depths_[to_index(location)]; }

private:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t find_depth(const Profile& profile, const Location& location) const;

  std::vector<uint32_t> depths_;  // of each location; 0 where it has none such
  std::vector<bool> has_such_;
  std::vector<bool> is_kernel_;  // or no code at all: a gap
};

// Reads stacks as Go's runtime does. What a frame means may depend on the one that it called,
// which the location alone does not tell.

// Takes wrappers out, unless they call a panic: the compiler made them, and the runtime leaves
// them out of its stacks. A stack of nothing else stays as it is.
void hide_wrappers(Profile& profile);

// Leaves the kernel's scheduler, and what called it at once, out of the stacks of threads that
// waited: all of them were there, and what they waited in called that. Likewise the functions
// of Go's runtime by which a goroutine waits, "runtime.gopark" and what called it: the state of
// its samples tells what it waits for.
void hide_scheduler(Profile& profile);

// Stacks of goroutines whose callers were looked for with GroupBy::has_creators have the go
// statement beyond their root. It becomes a frame named as tracebacks do, "created by
// main.main", in the place of runtime.goexit; without a name it is dropped. False: no stack has
// one.
bool name_creators(Profile& profile);

// Takes out what looks like a caller of runtime.goexit: recordings of older versions have
// creators in their stacks, and what they made of those whose files could not be read then.
void drop_creators(Profile& profile);

// Charges the CPU time of the garbage collector's own goroutines to those who allocate: what
// they leave has to be collected. A sample of the collector goes to the stacks of the same
// process that were in runtime.mallocgc, in proportion to the time there; in the place of what
// runtime.mallocgc called is then the function kCollectorCost. The sums stay what they were.
//
// It is an estimate: that time goes with the number and size of what is allocated, as the work
// of the collector does, but not with how much of it lives on. A process without samples in
// runtime.mallocgc keeps its stacks.
void charge_collector(Profile& profile);

inline constexpr std::string_view kCollectorCost = "runtime.gc (estimated share)";

// A note for a profile in which the cost was charged; else empty.
std::string_view estimate_of(const Profile& profile);

}  // namespace gosym
