#include "profile/filter.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "model/container.h"
#include "model/workload.h"
#include "profile/rewrite_stacks.h"

// A filter is applied in one of two places: to samples of a recording while it is replayed
// (Filter::keeps()), or to a profile that was read (apply()), whose samples have owners and
// steps of time instead.
namespace gosym {

namespace {

// The kernel keeps so much of a thread's name (TASK_COMM_LEN less its NUL).
constexpr size_t kMaxCommSize = 15;

bool is_same_comm(std::string_view wanted, std::string_view comm) {
  // A longer name that is asked for was recorded in part; profiles of other tools have it
  // whole.
  return wanted == comm || wanted.substr(0, kMaxCommSize) == comm;
}

std::string_view key_of(std::string_view label) {
  return label.substr(0, label.find('='));
}

bool has_label(std::span<const Label> labels, const std::string& wanted) {
  return std::ranges::any_of(
      labels, [&](const Label& label) { return label.key + '=' + label.value == wanted; });
}

bool keeps_labels(const std::vector<std::string>& wanted, std::span<const Label> labels) {
  // Values of one key are alternatives; different keys must all match.
  return std::ranges::all_of(wanted, [&](const std::string& one) {
    return std::ranges::any_of(wanted, [&](const std::string& other) {
      return key_of(one) == key_of(other) && has_label(labels, other);
    });
  });
}

bool keeps_number(const std::vector<uint32_t>& wanted, uint32_t number) {
  return wanted.empty() || std::ranges::find(wanted, number) != wanted.end();
}

bool is_in_cgroup(std::string_view cgroup, std::string_view wanted) {
  // A container is known by the beginning of its id, as docker has it.
  std::string_view id = container_id(cgroup);
  if (!id.empty() && !wanted.empty() && id.starts_with(wanted))
    return true;
  // "/system.slice/", "system.slice" and "/system.slice" are the same; one of slashes alone is
  // the root, which all are below.
  while (wanted.ends_with('/'))
    wanted.remove_suffix(1);
  while (wanted.starts_with('/'))
    wanted.remove_prefix(1);
  if (cgroup.starts_with('/'))
    cgroup.remove_prefix(1);
  return wanted.empty() || cgroup == wanted ||
         (cgroup.starts_with(wanted) && cgroup[wanted.size()] == '/');
}

bool keeps_cgroup(const std::vector<std::string>& wanted, std::string_view cgroup) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& one) {
           return is_in_cgroup(cgroup, one);
         });
}

bool keeps_any(const std::vector<std::string>& wanted, const auto& is_it) {
  return wanted.empty() || std::ranges::any_of(wanted, is_it);
}

// True if the cgroup is of one thing of each list that is not empty. Ids may be told by their
// beginnings; a text of Workload that is empty is of no such thing.
bool keeps_workload(const Filter& filter, std::string_view cgroup) {
  if (filter.services.empty() && filter.containers.empty() && filter.pods.empty())
    return true;
  Workload workload = workload_of(cgroup);
  return keeps_any(filter.services,
                   [&](const std::string& one) { return is_unit(workload.unit, one); }) &&
         keeps_any(filter.containers,
                   [&](const std::string& one) {
                     return !workload.container.empty() && workload.container.starts_with(one);
                   }) &&
         keeps_any(filter.pods, [&](const std::string& one) {
           return !workload.pod.empty() && workload.pod.starts_with(one);
         });
}

std::string seconds_text(uint64_t nanoseconds) {
  return fmt::format("{}", to_seconds(nanoseconds));
}

std::string comma_list(const std::vector<uint32_t>& numbers) {
  std::vector<std::string> items;
  for (uint32_t number : numbers)
    items.push_back(std::to_string(number));
  return joined(items, ",");
}

}  // namespace

Result<TimeRange> parse_time_range(std::string_view text) {
  std::vector<std::string_view> sides = split(text, ',');
  if (sides.size() != 2)
    return errorf("'{}' is not a time range such as 1.5,3", text);

  TimeRange range;
  // A side that is left out keeps the range's default; anything else has to be a duration.
  auto parse_side = [](std::string_view side, uint64_t& value) {
    auto parsed = parse_duration(side);
    value = parsed.value_or(value);
    return parsed || side.empty();
  };
  if (!parse_side(sides[0], range.begin) || !parse_side(sides[1], range.end))
    return errorf("'{}' is not a time range such as 1.5,3", text);
  if (range.begin >= range.end)
    return errorf("'{}' ends before it begins", text);
  return range;
}

namespace {

bool keeps_comm(const std::vector<std::string>& wanted, std::string_view thread,
                std::string_view process) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& one) {
           return is_same_comm(one, thread) || is_same_comm(one, process);
         });
}

}  // namespace

void drop_unused_stacks(Profile& profile) {
  SequencePool<LocationId> stacks;
  std::vector<uint32_t> new_stacks(profile.stack_count());
  for (const SampleCount& sample : profile.samples)
    // Stacks that no sample has are never interned; their number is not asked for.
    new_stacks[to_index(sample.stack)] = stacks.intern(profile.stack(sample.stack));
  // It also adds up samples that have become equal, which widen_steps() relies on.
  replace_stacks(profile, std::move(stacks), new_stacks);
}

void apply(const Filter& filter, Profile& profile) {
  // Each set of labels is judged once, not with each of its samples.
  std::vector<bool> keeps_set;
  for (const std::vector<ProfileLabel>& set : profile.label_sets) {
    std::vector<Label> labels;
    for (const ProfileLabel& label : set)
      labels.push_back(
          {std::string(profile.strings[label.key]), std::string(profile.strings[label.value])});
    keeps_set.push_back(keeps_labels(filter.labels, labels));
  }
  auto is_in_time = [&](const SampleCount& sample) {
    // A sample is where its step begins, as finer time is not kept.
    uint64_t time = sample.step * profile.time_step;
    return time >= filter.time.begin && time < filter.time.end;
  };
  // So is each owner.
  std::vector<bool> keeps_owner;
  for (const Owner& owner : profile.owners)
    keeps_owner.push_back(
        keeps_number(filter.pids, owner.pid) && keeps_number(filter.tids, owner.tid) &&
        keeps_comm(filter.comms, profile.strings[owner.comm], profile.strings[owner.process]) &&
        keeps_cgroup(filter.cgroups, profile.strings[owner.cgroup]) &&
        keeps_workload(filter, profile.strings[owner.cgroup]) && keeps_set[owner.label_set] &&
        (!filter.event || *filter.event == owner.event));
  size_t dropped = std::erase_if(profile.samples.own(), [&](const SampleCount& sample) {
    return !is_in_time(sample) || !keeps_owner[to_index(sample.owner)];
  });
  narrow_time(filter.time, profile);
  if (dropped == 0)
    return;
  drop_unused_stacks(profile);
  forget_dropped(profile);
}

void narrow_time(const TimeRange& time, Profile& profile) {
  if (time == TimeRange())
    return;
  uint64_t from = profile.time_begin();
  // A file may say a duration that leads beyond 64 bits.
  uint64_t to = std::max(from, from + profile.duration_ns);
  uint64_t begin = std::clamp(time.begin, from, to);
  profile.start_realtime_ns += begin - from;
  profile.duration_ns = std::clamp(time.end, begin, to) - begin;
}

void forget_dropped(Profile& profile) {
  profile.idle_ns = 0;
  profile.unwound = {};
  profile.unwound_by_event.clear();
  fill_timelines(profile);
}

void widen_steps(Profile& profile, uint64_t step) {
  if (profile.time_step == 0)
    return;
  // A step of 0 puts all time together: then the profile has no steps any more.
  // Steps become multiples of what they were: finer ones than the profile's cannot be made.
  uint64_t factor = step == 0 ? 0 : std::max<uint64_t>(1, step / profile.time_step);
  for (SampleCount& sample : profile.samples)
    sample.step = factor == 0 ? 0 : static_cast<uint32_t>(sample.step / factor);
  profile.time_step *= factor;
  drop_unused_stacks(profile);
}

bool Filter::keeps(const RecordedSample& sample, const SampleNames& names,
                   uint64_t recording_start) const {
  // The recorder's first samples may be a little older than its note of when it started.
  uint64_t since_start = sample.time - std::min(sample.time, recording_start);
  return keeps_number(pids, sample.pid) && keeps_number(tids, sample.tid) &&
         keeps_comm(comms, names.thread, names.process) &&
         keeps_cgroup(cgroups, names.cgroup) && keeps_workload(*this, names.cgroup) &&
         keeps_labels(labels, sample.labels) && since_start >= time.begin &&
         since_start < time.end && (!event || *event == sample.event);
}

std::string Filter::to_string() const {
  std::vector<std::string> options;
  if (!pids.empty())
    options.push_back("--pid " + comma_list(pids));
  if (!tids.empty())
    options.push_back("--tid " + comma_list(tids));
  if (!comms.empty())
    options.push_back("--comm " + joined(comms, ","));
  if (!cgroups.empty())
    options.push_back("--cgroup " + joined(cgroups, ","));
  if (!services.empty())
    options.push_back("--service " + joined(services, ","));
  if (!containers.empty())
    options.push_back("--container " + joined(containers, ","));
  if (!pods.empty())
    options.push_back("--pod " + joined(pods, ","));
  for (const std::string& label : labels)
    options.push_back(fmt::format("--label {}", label));
  if (time != TimeRange())
    options.push_back(fmt::format("--time {},{}",
                                  time.begin == 0 ? "" : seconds_text(time.begin),
                                  time.end == UINT64_MAX ? "" : seconds_text(time.end)));
  return joined(options, " ");
}

}  // namespace gosym
