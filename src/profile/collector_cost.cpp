#include "profile/collector_cost.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "profile/rewrite_stacks.h"

namespace gosym {

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
  for (size_t i = 0; i < stack.size(); i++)
    for (const Frame& frame : profile.frames_of(profile.locations[to_index(stack[i])])) {
      std::string_view name = profile.name_of(frame.function);
      role.is_collector |= is_collector(name);
      if (is_allocation(name))
        role.allocation = i;
    }
  return role;
}

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
CostsKey costs_key(const SampleCount& sample) {
  return {sample.recording, sample.pid, sample.event};
}

std::map<CostsKey, Costs> find_costs(const Profile& profile, std::span<const StackRole> roles) {
  std::map<CostsKey, Costs> found;
  for (const SampleCount& sample : profile.samples) {
    const StackRole& role = roles[to_index(sample.stack)];
    // Waits have a state, and are no time that was spent.
    if (sample.state != StringId{} || (!role.is_collector && !role.allocation))
      continue;
    Costs& costs = found[costs_key(sample)];
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
    auto of = sample.state == StringId{} ? costs.find(costs_key(sample)) : costs.end();
    // Samples of the collector are replaced by their parts; all others stay.
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
