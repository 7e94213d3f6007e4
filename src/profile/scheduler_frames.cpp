#include "profile/scheduler_frames.h"

#include <algorithm>
#include <array>
#include <vector>

#include "profile/rewrite_stacks.h"

namespace gosym {

namespace {

constexpr std::string_view kScheduler = "__schedule";

// The most frames that the sampler and the kernel have above the scheduler, in whose code, or
// in what it called, the stack was taken.
constexpr size_t kMaxAbove = 24;

// "schedule", "schedule_timeout", "preempt_schedule_irq": they do nothing but call it.
bool is_way_to_scheduler(std::string_view name) {
  constexpr std::array<std::string_view, 4> kBegins = {"schedule", "__schedule",
                                                       "preempt_schedule", "io_schedule"};
  return std::ranges::any_of(kBegins,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

// The name of the innermost function at the location; empty: it has no name.
std::string_view name_of(const Profile& profile, LocationId id) {
  const Location& location = profile.locations[to_index(id)];
  if (location.frame_count == 0)
    return {};
  return profile.name_of(profile.frames[location.first_frame].function);
}

std::string_view kernel_name_of(const Profile& profile, LocationId id) {
  bool is_kernel = profile.is_kernel(profile.locations[to_index(id)]);
  return is_kernel ? name_of(profile, id) : std::string_view();
}

// The number of innermost frames that are the scheduler's; 0 if it is not there.
size_t count_scheduler(const Profile& profile, std::span<const LocationId> stack) {
  std::span<const LocationId> innermost = stack.first(std::min(stack.size(), kMaxAbove));
  auto scheduler = std::ranges::find(
      innermost, kScheduler, [&](LocationId id) { return kernel_name_of(profile, id); });
  if (scheduler == innermost.end())
    return 0;
  auto count = static_cast<size_t>(scheduler - innermost.begin()) + 1;
  while (count < stack.size() && is_way_to_scheduler(kernel_name_of(profile, stack[count])))
    count++;
  return count;
}

// "runtime.chanrecv1": a function of Go's runtime that programs cannot name.
bool is_inside_go_runtime(const Profile& profile, LocationId id) {
  constexpr std::string_view kRuntime = "runtime.";
  std::string_view name = name_of(profile, id);
  return name.starts_with(kRuntime) && name.size() > kRuntime.size() &&
         name[kRuntime.size()] >= 'a' && name[kRuntime.size()] <= 'z';
}

// The number of innermost frames by which a goroutine waits; 0 if it does not.
size_t count_parking(const Profile& profile, std::span<const LocationId> stack) {
  constexpr std::array<std::string_view, 2> kParking = {"runtime.gopark",
                                                        "runtime.notetsleepg"};
  if (stack.empty() || std::ranges::count(kParking, name_of(profile, stack.front())) == 0)
    return 0;
  auto caller = std::ranges::find_if_not(
      stack, [&](LocationId id) { return is_inside_go_runtime(profile, id); });
  return static_cast<size_t>(caller - stack.begin());
}

}  // namespace

void hide_scheduler(Profile& profile) {
  std::vector<bool> has_waited(profile.stack_count());
  for (const SampleCount& sample : profile.samples)
    if (sample.state != StringId{})
      has_waited[to_index(sample.stack)] = true;
  if (std::ranges::count(has_waited, true) == 0)
    return;
  rewrite_stacks(profile, [&](StackId id, std::vector<LocationId>& locations) {
    std::span<const LocationId> stack = profile.stack(id);
    size_t hidden = 0;
    if (has_waited[to_index(id)])
      hidden = std::max(count_scheduler(profile, stack), count_parking(profile, stack));
    if (hidden == stack.size())
      hidden = 0;
    locations.assign(stack.begin() + static_cast<ptrdiff_t>(hidden), stack.end());
  });
}

}  // namespace gosym
