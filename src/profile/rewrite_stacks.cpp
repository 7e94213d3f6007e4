#include "profile/rewrite_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/filter.h"
#include "profile/own_code.h"
#include "profile/sample_counter.h"

namespace gosym {

namespace {

// Locations get new ids in the order of their first use: nothing but stacks refers to them.
// Frames and functions stay, whether a location has them or not.
void drop_unused_locations(Profile& profile) {
  constexpr LocationId kUnused{UINT32_MAX};
  std::vector<LocationId> new_ids(profile.locations.size(), kUnused);
  std::vector<Location> used;
  for (LocationId& id : profile.stack_locations) {
    LocationId& new_id = new_ids[to_index(id)];
    if (new_id == kUnused) {
      new_id = static_cast<LocationId>(used.size());
      used.push_back(profile.locations[to_index(id)]);
    }
    id = new_id;
  }
  profile.locations = std::move(used);
}

// Gives the samples their new stacks, and adds up those that have become equal.
void set_samples(Profile& profile, std::span<const uint32_t> new_stacks) {
  SampleCounter counter;
  std::vector<SampleCount> samples;
  std::vector<uint64_t> amounts;  // Profile::other_amounts of these
  for (SampleCount sample : std::as_const(profile.samples)) {
    std::span<const uint64_t> others = profile.others_of(sample);
    sample.stack = StackId{new_stacks[to_index(sample.stack)]};
    counter.add(sample, others, samples, amounts);
  }
  profile.samples = std::move(samples);
  profile.other_amounts = std::move(amounts);
}

}  // namespace

void replace_stacks(Profile& profile, SequencePool<LocationId> stacks,
                    std::span<const uint32_t> new_stacks) {
  std::move(stacks).take(profile.stack_locations, profile.stack_begin);
  set_samples(profile, new_stacks);
  drop_unused_locations(profile);
}

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
  StringId state = profile.strings.intern(kIdleThread);
  std::vector<std::optional<bool>> is_idle_stack(profile.stack_count());
  for (SampleCount& sample : profile.samples) {
    // A thread that waits for a CPU or a disk is not idle, whatever its stack.
    const Owner& owner = profile.owner(sample);
    if (!has_intervals(profile.info.events[owner.event]) ||
        profile.strings[owner.state] != kSleeping)
      continue;
    std::optional<bool>& known = is_idle_stack[to_index(sample.stack)];
    if (!known)
      known = is_idle(profile, profile.stack(sample.stack));
    if (*known)
      profile.change_owner(sample, [&](Owner& idle) { idle.state = state; });
  }
}

void leave_out_idle_threads(Profile& profile) {
  auto is_left_out = [&](const SampleCount& sample) {
    const Owner& owner = profile.owner(sample);
    return has_intervals(profile.info.events[owner.event]) &&
           profile.strings[owner.state] == kIdleThread;
  };
  // They are shown where nothing else was sampled: an empty report would tell less.
  if (std::ranges::all_of(profile.samples, is_left_out))
    return;
  uint64_t idle_ns = 0;
  size_t dropped = std::erase_if(profile.samples.own(), [&](const SampleCount& sample) {
    bool is_one = is_left_out(sample);
    idle_ns += is_one ? sample.weight : 0;
    return is_one;
  });
  profile.idle_ns += idle_ns;
  if (dropped == 0)
    return;
  // Timelines were counted with them. They are made anew only if no other event has one: of the
  // steps of samples they are coarser, and without steps there are none.
  drop_unused_stacks(profile);
  if (std::ranges::all_of(profile.info.events, has_intervals))
    fill_timelines(profile);
}

namespace {

// "runtime.futex", "internal/runtime/syscall.Syscall6"; "internal/poll.runtime_pollWait", which
// is the runtime's under another package's name; and the assembly that enters the kernel.
bool is_of_go_runtime(std::string_view package, std::string_view name) {
  if (is_runtime_package(package))
    return true;
  if (!name.starts_with(package) || package.empty())
    return false;
  std::string_view function = name.substr(package.size());
  return function.starts_with(".runtime_") ||
         (package == "syscall" &&
          (function.starts_with(".Syscall") || function.starts_with(".RawSyscall") ||
           function.starts_with(".rawSyscall") || function.starts_with(".rawVfork")));
}

}  // namespace

WaitFrames::WaitFrames(const Profile& profile) {
  for (const Location& location : profile.locations) {
    is_kernel_.push_back(profile.is_kernel(location) || location.unnamed == Unnamed::kLeftOut);
    uint32_t depth = is_kernel_.back() ? kNone : find_depth(profile, location);
    has_such_.push_back(depth != kNone);
    depths_.push_back(depth == kNone ? 0 : depth);
  }
}

uint32_t WaitFrames::find_depth(const Profile& profile, const Location& location) const {
  std::span<const Frame> frames = profile.frames_of(location);
  auto is_other = [&](const Frame& frame) {
    const Function& function = profile.functions[to_index(frame.function)];
    return !is_go(frame.source) ||
           !is_of_go_runtime(profile.strings[function.package], profile.strings[function.name]);
  };
  auto found = std::ranges::find_if(frames, is_other);
  // Code without a name is taken for such a place: it may be anybody's.
  if (found == frames.end())
    return frames.empty() ? 0 : kNone;
  return static_cast<uint32_t>(found - frames.begin());
}

WaitFrames::Place WaitFrames::find(std::span<const LocationId> stack) const {
  auto place = [&](auto has) {
    return static_cast<size_t>(std::ranges::find_if(stack, has) - stack.begin());
  };
  // The first that is neither the kernel's nor the runtime's, or not the kernel's, or the
  // first.
  size_t found = place([&](LocationId id) { return has_such_[to_index(id)]; });
  if (found == stack.size())
    found = place([&](LocationId id) { return !is_kernel_[to_index(id)]; });
  if (found == stack.size())
    found = 0;
  return {found, depth(stack[found])};
}

namespace {

// The kind of the outermost function at a location, which is the one that its caller called.
FunctionKind kind_at(const Profile& profile, LocationId id) {
  std::span<const Frame> frames = profile.frames_of(profile.locations[to_index(id)]);
  return frames.empty() ? FunctionKind::kNormal : frames.back().kind;
}

// Marks a location that is left out of stacks.
constexpr LocationId kNothing{UINT32_MAX};

// A location with those of the frames that are shown after a callee of some kind; kNothing if
// none is.
class WrapperFilter {
public:
  explicit WrapperFilter(Profile& profile)
      : profile_(profile), known_(profile.locations.size()) {}

  LocationId operator()(LocationId id, FunctionKind callee) {
    std::optional<LocationId>& known = known_[to_index(id)][shows_wrappers(callee) ? 1 : 0];
    if (!known)
      known = filter(id, callee);
    return *known;
  }

private:
  LocationId filter(LocationId id, FunctionKind callee) {
    Location location = profile_.locations[to_index(id)];
    std::vector<Frame> shown;
    for (const Frame& frame : profile_.frames_of(location)) {
      if (!is_hidden(frame.kind, callee))
        shown.push_back(frame);
      // A wrapper is hidden depending on its callee, as in Go's own tracebacks.
      callee = frame.kind;
    }
    if (shown.size() == location.frame_count)
      return id;
    if (shown.empty())
      return kNothing;
    location.first_frame = static_cast<uint32_t>(profile_.frames.size());
    location.frame_count = static_cast<uint32_t>(shown.size());
    profile_.frames.insert(profile_.frames.end(), shown.begin(), shown.end());
    profile_.locations.push_back(location);
    return LocationId{static_cast<uint32_t>(profile_.locations.size() - 1)};
  }

  Profile& profile_;
  // By location, and by whether the callee's kind shows a wrapper.
  std::vector<std::array<std::optional<LocationId>, 2>> known_;
};

}  // namespace

void hide_wrappers(Profile& profile) {
  if (!std::ranges::count(profile.frames, FunctionKind::kWrapper, &Frame::kind))
    return;
  WrapperFilter filter(profile);
  rewrite_stacks(profile, [&](StackId stack, std::vector<LocationId>& locations) {
    FunctionKind callee = FunctionKind::kNormal;
    for (LocationId id : profile.stack(stack)) {
      LocationId shown = filter(id, callee);
      if (shown != kNothing)
        locations.push_back(shown);
      callee = kind_at(profile, id);
    }
    std::span<const LocationId> before = profile.stack(stack);
    // A stack of wrappers alone stays as it is.
    if (locations.empty())
      locations.assign(before.begin(), before.end());
  });
}

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

// The number of innermost frames by which a goroutine waits; 0 if it does not. gopark parks the
// goroutine alone, notetsleepg blocks its thread with it, as for os/signal.
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
  // Only stacks of waits: in samples of CPU time the scheduler's own work is what was sampled.
  std::vector<bool> has_waited(profile.stack_count());
  for (const SampleCount& sample : profile.samples)
    if (profile.owner(sample).state != StringId{})
      has_waited[to_index(sample.stack)] = true;
  if (std::ranges::count(has_waited, true) == 0)
    return;
  rewrite_stacks(profile, [&](StackId id, std::vector<LocationId>& locations) {
    std::span<const LocationId> stack = profile.stack(id);
    size_t hidden = 0;
    if (has_waited[to_index(id)])
      hidden = std::max(count_scheduler(profile, stack), count_parking(profile, stack));
    // Nothing else would be left.
    if (hidden == stack.size())
      hidden = 0;
    locations.assign(stack.begin() + static_cast<ptrdiff_t>(hidden), stack.end());
  });
}

namespace {

// The frames that stand for creators, one for each place of a go statement.
class CreatorFrames {
public:
  explicit CreatorFrames(Profile& profile) : profile_(profile) {}

  LocationId of(LocationId creator) {
    auto next = static_cast<LocationId>(profile_.locations.size());
    auto [known, is_new] = known_.try_emplace(creator, next);
    if (is_new)
      add(profile_.locations[to_index(creator)]);
    return known->second;
  }

private:
  // The innermost of inlined calls has the go statement. name_creators() takes no locations
  // without a name, so that there is a frame.
  void add(Location location) {
    if (location.frame_count > 0) {
      Frame frame = profile_.frames[location.first_frame];
      Function function = profile_.functions[to_index(frame.function)];
      for (StringId* name : {&function.name, &function.system_name})
        *name = profile_.strings.intern(fmt::format("created by {}", profile_.strings[*name]));
      frame.function = static_cast<FunctionId>(profile_.functions.size());
      location.first_frame = static_cast<uint32_t>(profile_.frames.size());
      location.frame_count = 1;
      profile_.functions.push_back(function);
      profile_.frames.push_back(frame);
    }
    profile_.locations.push_back(location);
  }

  Profile& profile_;
  std::map<LocationId, LocationId> known_;
};

bool is_goroutine_root(const Profile& profile, LocationId id) {
  std::span<const Frame> frames = profile.frames_of(profile.locations[to_index(id)]);
  if (frames.empty())
    return false;
  std::string_view name = profile.name_of(frames.back().function);
  return name == "runtime.goexit" || name == "runtime.goexit.abi0";
}

// "main.start", but no function of C or C++.
bool is_go_name(std::string_view name) {
  return name.find('.') != std::string_view::npos && name.find("::") == std::string_view::npos;
}

// Nothing in Go calls runtime.goexit; C code may, whose callback a goroutine ran. So a caller
// of it that is Go code of the same file is a creator, as older recordings have it without the
// mark is_creator.
bool ends_with_creator(const Profile& profile, std::span<const LocationId> stack) {
  if (stack.size() < 2)
    return false;
  const Location& last = profile.locations[to_index(stack.back())];
  if (last.is_creator)
    return true;
  LocationId root = stack[stack.size() - 2];
  if (!is_goroutine_root(profile, root) ||
      last.mapping != profile.locations[to_index(root)].mapping)
    return false;
  std::span<const Frame> frames = profile.frames_of(last);
  return !frames.empty() && is_go_name(profile.name_of(frames.back().function));
}

}  // namespace

bool name_creators(Profile& profile) {
  CreatorFrames creators(profile);
  bool has_any = false;
  rewrite_stacks(profile, [&](StackId id, std::vector<LocationId>& locations) {
    std::span<const LocationId> stack = profile.stack(id);
    locations.assign(stack.begin(), stack.end());
    if (!ends_with_creator(profile, stack))
      return;
    locations.pop_back();
    if (!profile.is_named(profile.locations[to_index(stack.back())]))
      return;
    has_any = true;
    // "created by" takes the place of goexit, which all goroutines have in common.
    if (is_goroutine_root(profile, locations.back()))
      locations.pop_back();
    locations.push_back(creators.of(stack.back()));
  });
  return has_any;
}

void drop_creators(Profile& profile) {
  bool has_creators = false;
  for (size_t i = 0; i < profile.stack_count() && !has_creators; i++)
    has_creators = ends_with_creator(profile, profile.stack(static_cast<StackId>(i)));
  if (!has_creators)
    return;
  rewrite_stacks(profile, [&](StackId id, std::vector<LocationId>& locations) {
    std::span<const LocationId> stack = profile.stack(id);
    locations.assign(stack.begin(), stack.end());
    if (ends_with_creator(profile, stack))
      locations.pop_back();
  });
}

namespace {

// The part that a stack has in garbage collection.
struct StackRole {
  bool is_collector = false;
  // For a stack that allocates: the index of the outermost location of runtime.mallocgc.
  std::optional<size_t> allocation = {};
};

// "runtime.gcBgMarkWorker", or a function in it: "runtime.gcBgMarkWorker.func2".
bool is_collector(std::string_view name) {
  constexpr std::array<std::string_view, 3> kGoroutines = {
      "runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge"};
  return std::ranges::any_of(kGoroutines, [&](std::string_view goroutine) {
    return name.starts_with(goroutine) &&
           (name.size() == goroutine.size() || name[goroutine.size()] == '.');
  });
}

// Or a form of it for one size of objects, from Go 1.26 on: "runtime.mallocgcSmallNoScanSC2".
bool is_allocation(std::string_view name) {
  return name.starts_with("runtime.mallocgc");
}

StackRole role_of(const Profile& profile, std::span<const LocationId> stack) {
  StackRole role;
  // Innermost first, so that the last allocation found is the outermost.
  for (size_t i = 0; i < stack.size(); i++)
    for (const Frame& frame : profile.frames_of(profile.locations[to_index(stack[i])])) {
      std::string_view name = profile.name_of(frame.function);
      role.is_collector |= is_collector(name);
      if (is_allocation(name))
        role.allocation = i;
    }
  return role;
}

// In no mapping, as no code is meant. Its source is one of Go's, so that views take it for a
// function of Go's runtime.
LocationId add_cost_location(Profile& profile) {
  StringId name = profile.strings.intern(kCollectorCost);
  Function function = {.name = name,
                       .system_name = name,
                       .file = {},
                       .package = profile.strings.intern("runtime")};
  Location location;
  location.first_frame = static_cast<uint32_t>(profile.frames.size());
  location.frame_count = 1;
  profile.frames.push_back({.function = static_cast<FunctionId>(profile.functions.size()),
                            .source = FrameSource::kPclntab});
  profile.functions.push_back(function);
  profile.locations.push_back(location);
  return static_cast<LocationId>(profile.locations.size() - 1);
}

// Samples of one event of one process.
struct Costs {
  SampleCount collector;       // the sum of what its goroutines took
  uint64_t allocations = 0;    // the sum of amounts
  uint64_t charged_up_to = 0;  // of that
};

// The process and the event of a sample, of several recordings.
using CostsKey = std::tuple<uint32_t, uint32_t, uint32_t>;
CostsKey costs_key(const Owner& owner) {
  return {owner.recording, owner.pid, owner.event};
}

std::map<CostsKey, Costs> find_costs(const Profile& profile, std::span<const StackRole> roles) {
  std::map<CostsKey, Costs> found;
  for (const SampleCount& sample : profile.samples) {
    const StackRole& role = roles[to_index(sample.stack)];
    // Waits have a state, and are no time that was spent.
    const Owner& owner = profile.owner(sample);
    if (owner.state != StringId{} || (!role.is_collector && !role.allocation))
      continue;
    Costs& costs = found[costs_key(owner)];
    if (!role.is_collector) {
      costs.allocations += profile.amount(sample);
      continue;
    }
    costs.collector.count += sample.count;
    costs.collector.weight += sample.weight;
    costs.collector.skipped += sample.skipped;
  }
  // Without both there is nothing to charge, or nobody to charge it to.
  std::erase_if(found, [](const auto& of) {
    return of.second.allocations == 0 || of.second.collector.count == 0;
  });
  return found;
}

// The part of the collector's sum for an allocation of this amount. Each part ends where the
// next one begins, so that rounding loses nothing.
SampleCount take_part(Costs& costs, SampleCount allocation, uint64_t amount) {
  uint64_t end = costs.charged_up_to + amount;
  auto part = [&](uint64_t sum) {
    // At the end the sum itself: floating point could miss it by one.
    auto up_to = [&](uint64_t place) {
      return place == costs.allocations
                 ? sum
                 : static_cast<uint64_t>(static_cast<double>(sum) * static_cast<double>(place) /
                                         static_cast<double>(costs.allocations));
    };
    return up_to(end) - up_to(costs.charged_up_to);
  };
  allocation.count = part(costs.collector.count);
  allocation.weight = part(costs.collector.weight);
  allocation.skipped = part(costs.collector.skipped);
  costs.charged_up_to = end;
  return allocation;
}

// The stacks of allocations with the collector in the place of what they called, each once.
class ChargedStacks {
public:
  explicit ChargedStacks(Profile& profile)
      : profile_(profile), cost_(add_cost_location(profile)) {}

  // `allocation` is the index of runtime.mallocgc in the stack, as StackRole has it.
  StackId of(StackId stack, size_t allocation) {
    auto [known, is_new] = known_.try_emplace(stack);
    if (!is_new)
      return known->second;
    std::span<const LocationId> callers = profile_.stack(stack).subspan(allocation);
    std::vector<LocationId> charged = {cost_, without_inlined(callers.front())};
    charged.insert(charged.end(), callers.begin() + 1, callers.end());
    known->second = static_cast<StackId>(profile_.stack_count());
    profile_.add_stack(charged);
    return known->second;
  }

private:
  // The location of runtime.mallocgc without the calls that are inlined there: they did not
  // call the collector.
  LocationId without_inlined(LocationId id) {
    auto [known, is_new] = whole_.try_emplace(id, id);
    Location location = profile_.locations[to_index(id)];
    std::span<const Frame> frames = profile_.frames_of(location);
    // Outer frames come later in a location: those before mallocgc are inlined into it.
    size_t inlined = frames.size();
    while (inlined > 0 && !is_allocation(profile_.name_of(frames[inlined - 1].function)))
      inlined--;
    if (!is_new || inlined <= 1)
      return known->second;
    location.first_frame += static_cast<uint32_t>(inlined - 1);
    location.frame_count -= static_cast<uint32_t>(inlined - 1);
    known->second = static_cast<LocationId>(profile_.locations.size());
    profile_.locations.push_back(location);
    return known->second;
  }

  Profile& profile_;
  LocationId cost_;
  std::map<StackId, StackId> known_;
  std::map<LocationId, LocationId> whole_;  // of runtime.mallocgc
};

}  // namespace

void charge_collector(Profile& profile) {
  // Costs are of one value; each has its own.
  if (has_values(profile.info.events))
    profile = with_values_apart(profile);
  // Roles are of stacks, and there are far fewer of them than samples.
  std::vector<StackRole> roles;
  for (uint32_t i = 0; i < profile.stack_count(); i++)
    roles.push_back(role_of(profile, profile.stack(StackId{i})));
  std::map<CostsKey, Costs> costs = find_costs(profile, roles);
  if (costs.empty())
    return;
  ChargedStacks stacks(profile);
  std::vector<SampleCount> samples;
  for (const SampleCount& sample : profile.samples) {
    const StackRole& role = roles[to_index(sample.stack)];
    const Owner& owner = profile.owner(sample);
    auto of = owner.state == StringId{} ? costs.find(costs_key(owner)) : costs.end();
    // Samples of the collector are replaced by their parts; all others stay. Waits, which have
    // a state, are neither of the collector nor charged.
    if (of == costs.end() || !role.is_collector)
      samples.push_back(sample);
    if (of == costs.end() || role.is_collector || !role.allocation)
      continue;
    SampleCount part = take_part(of->second, sample, profile.amount(sample));
    // An allocation may be too small for a part of a sample.
    if (part.count == 0 && part.weight == 0 && part.skipped == 0)
      continue;
    part.stack = stacks.of(sample.stack, *role.allocation);
    samples.push_back(part);
  }
  profile.samples = std::move(samples);
  // Charged stacks that are equal become one, and locations of the collector alone go.
  rewrite_stacks(profile, [&](StackId id, std::vector<LocationId>& locations) {
    std::span<const LocationId> stack = profile.stack(id);
    locations.assign(stack.begin(), stack.end());
  });
}

std::string_view estimate_of(const Profile& profile) {
  bool is_charged = std::ranges::any_of(profile.functions, [&](const Function& function) {
    return profile.strings[function.name] == kCollectorCost;
  });
  return is_charged ? "garbage collection is charged to stacks that allocate, by their time "
                      "in runtime.mallocgc"
                    : "";
}

}  // namespace gosym
