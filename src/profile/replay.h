#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model/recording.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "profile/stack_dumps.h"

namespace gosym {

// Attributes that keep samples of equal stacks apart. A Go program has many threads of one
// name, and more goroutines.
struct GroupBy {
  bool has_tids = true;
  bool has_goids = true;
  bool has_cpus = false;
  bool has_wakers = false;
  bool has_creators = false;  // of goroutines, beyond the roots of their stacks
  uint64_t time_step = 0;     // in nanoseconds: samples of different steps; 0: no time
  // By how much the recording began later than what steps are counted from, in nanoseconds.
  uint64_t time_offset = 0;
};

// A profile whose locations have no frames, and what there is of its stacks to find the callers
// that they lack.
struct Replayed {
  Profile profile;
  StackDumps dumps;
};

// Finds the callers of the stacks that the profile has got since the last call, by what there
// is of them, and keeps them: in the profile they are empty from then on. False: they come to
// too much.
using FindCallers = std::function<bool(Profile& profile, const StackDumps& dumps)>;

// Turns recorded samples into a profile: each runtime address becomes a location in the image
// that was mapped there at that moment.
//
// A return address lies in mapped code. Where the chain of frame pointers leads to one that
// does not, it has left the stack, and the user stack ends before it. Only a leaf may lie in no
// mapping. Words of stacks stay as they are until a walk asks for them: of most it never does.
//
// Samples may come in any order, as those of different CPUs do; each is of one of the events of
// the info. A stack with its top, and each address, is looked at once for each address space it
// was seen in. Stacks that are equal in several of these become one when callers have been
// looked for (rewrite_stacks.h), and not before: to find the few takes a sixth of the time of a
// report.
class Replay {
public:
  // Perf maps are only asked which process each is of.
  Replay(RecordingInfo info, std::vector<RecordedImage> images, std::vector<Event> events,
         std::span<const RecordedPerfMap> perf_maps = {}, GroupBy group_by = {});
  Replay(Replay&&) noexcept;
  ~Replay();

  // ":TID" and ":PID" for what is not known, but no path of a cgroup. Valid until the next
  // call.
  SampleNames names(const RecordedSample& sample);

  // Many samples share a stack, a top or a set of labels: whoever knows which may have each
  // numbered once, instead of once a sample. What is equal has the same number.
  struct Numbers {
    uint32_t kernel_stack;
    uint32_t user_stack;
    uint32_t creator;  // of a stack of its address alone
    uint32_t top;
    uint32_t switches;
    uint32_t label_set;
  };
  uint32_t number_stack(std::span<const uint64_t> stack);
  uint32_t number_top(std::span<const StackWord> top);
  uint32_t number_switches(std::span<const StackSwitch> switches);
  uint32_t number_labels(std::span<const Label> labels);

  // `numbers` are those of the sample's own.
  void add(const RecordedSample& sample, const Numbers& numbers);
  void add(const RecordedSample& sample);

  // The memory of all that was added, in bytes, about; events and images apart.
  uint64_t memory() const;

  // Calls `find` for all stacks so far, if their words take at least `least` bytes: a million
  // stacks of C++ have gigabytes of them. The words of later stacks are for whoever has the
  // profile.
  bool find_callers(uint64_t least, const FindCallers& find);

  // When the recording began, on the clock of the samples: their time counts from there, and
  // that of the timelines so much later, in nanoseconds.
  void set_begin(uint64_t time, uint64_t later);

  // The profile without frames, and without what only the file knows: times and statistics.
  Replayed finish() &&;

private:
  class Tables;  // whose types take long to compile
  std::unique_ptr<Tables> tables_;
};

}  // namespace gosym
