#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/recording.h"
#include "profile/profile.h"

namespace gosym {

// Nanoseconds since the start of a recording, `end` not included.
struct TimeRange {
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;

  bool operator==(const TimeRange&) const = default;
};

// "1.5,3": durations as parse_duration has them. Either may be left out: ",3", "2,".
Result<TimeRange> parse_time_range(std::string_view text);

// Names of whose a sample is.
struct SampleNames {
  std::string_view thread;
  std::string_view process;
  std::string_view cgroup;  // a path
};

// The samples of a recording that a profile is made of: those that match each list that is not
// empty, and the time.
struct Filter {
  std::vector<uint32_t> pids;
  std::vector<uint32_t> tids;
  std::vector<std::string> comms;  // of threads, or of processes with all their threads
  TimeRange time;
  std::vector<std::string> labels = {};  // "KEY=VALUE"; of each key one must match

  // Paths of cgroups, with those below them, or the beginnings of ids of containers.
  std::vector<std::string> cgroups = {};

  // Units of systemd; ids of containers, or their beginnings; uids of pods. See workload.h.
  std::vector<std::string> services = {};
  std::vector<std::string> containers = {};
  std::vector<std::string> pods = {};

  // Index into RecordingInfo::events; none: samples of all events.
  std::optional<uint32_t> event = {};

  bool keeps_all() const { return *this == Filter(); }
  // `recording_start` is on the clock of the samples.
  bool keeps(const RecordedSample& sample, const SampleNames& names,
             uint64_t recording_start) const;
  // The options that make this filter; empty if it keeps everything. The event is not among
  // them: a profile has that itself.
  std::string to_string() const;

  bool operator==(const Filter&) const = default;
};

// Leaves in a profile the samples that a filter keeps, and the stacks that these have. Steps of
// time are in a range if they begin in it. What was counted of the stacks of all samples is
// dropped if it is no longer of all of them.
void apply(const Filter& filter, Profile& profile);

// Makes the profile's time the part of it that was chosen, so that rates and loads are of that.
void narrow_time(const TimeRange& time, Profile& profile);
// Forgets what was counted of all samples, once some were dropped: nothing tells the part that
// is left. Timelines are made anew of the steps of samples.
void forget_dropped(Profile& profile);

// Leaves out the stacks that no sample has any more.
void drop_unused_stacks(Profile& profile);

// Makes the steps of time of a profile longer, by the factor that comes next to the length that
// is asked for, and adds up what has become equal. 0: samples have no time any more.
void widen_steps(Profile& profile, uint64_t step);

}  // namespace gosym
