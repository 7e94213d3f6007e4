#include "profile/idle_threads.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "profile/filter.h"

namespace gosym {

namespace {

// RecordedSample::state of threads that wait for an event. A thread that waits for a CPU has
// work.
constexpr std::string_view kSleeping = "sleeping";

// Functions of the runtime in which a thread waits for work; the last two wait for the network
// or a timer in the name of all goroutines, by the name of older releases, too.
constexpr std::array<std::string_view, 6> kIdleFunctions = {
    "runtime.stopm",          "runtime.sysmon",       "runtime.stoplockedm",
    "runtime.templateThread", "runtime.findRunnable", "runtime.findrunnable"};

// Looks at the innermost frames as long as they are the kernel's and the runtime's: what calls
// a function of the program waits for that.
bool is_idle(const Profile& profile, std::span<const LocationId> stack) {
  for (LocationId id : stack) {
    const Location& location = profile.locations[to_index(id)];
    if (profile.is_kernel(location))
      continue;
    if (location.frame_count == 0)
      return false;
    for (const Frame& frame : profile.frames_of(location)) {
      std::string_view name = profile.name_of(frame.function);
      if (std::ranges::find(kIdleFunctions, name) != kIdleFunctions.end())
        return true;
      if (!name.starts_with("runtime."))
        return false;
    }
  }
  return false;
}

}  // namespace

void label_idle_threads(Profile& profile) {
  if (std::ranges::none_of(profile.info.events, has_intervals))
    return;
  std::vector<std::optional<bool>> is_idle_stack(profile.stack_count());
  for (SampleCount& sample : profile.samples) {
    if (!has_intervals(profile.info.events[sample.event]) ||
        profile.strings[sample.state] != kSleeping)
      continue;
    std::optional<bool>& known = is_idle_stack[to_index(sample.stack)];
    if (!known)
      known = is_idle(profile, profile.stack(sample.stack));
    if (*known)
      sample.state = profile.strings.intern(kIdleThread);
  }
}

void leave_out_idle_threads(Profile& profile) {
  auto is_left_out = [&](const SampleCount& sample) {
    return has_intervals(profile.info.events[sample.event]) &&
           profile.strings[sample.state] == kIdleThread;
  };
  if (std::ranges::all_of(profile.samples, is_left_out))
    return;
  uint64_t idle_ns = 0;
  size_t dropped = std::erase_if(profile.samples, [&](const SampleCount& sample) {
    bool is_one = is_left_out(sample);
    idle_ns += is_one ? sample.weight : 0;
    return is_one;
  });
  profile.idle_ns += idle_ns;
  if (dropped == 0)
    return;
  drop_unused_stacks(profile);
  if (std::ranges::all_of(profile.info.events, has_intervals))
    fill_timelines(profile);
}

}  // namespace gosym
