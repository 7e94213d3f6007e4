#include "profile/go_stacks.h"

#include <algorithm>

#include "base/sequence_pool.h"

namespace gosym {

namespace {

struct SampleKey {
  uint32_t stack;
  uint32_t pid;
  uint32_t tid;
  StringId comm;
  bool operator==(const SampleKey&) const = default;
};

void set_stacks(Profile& profile, const SequencePool<LocationId>& stacks) {
  profile.stack_locations.clear();
  profile.stack_begin = {0};
  for (uint32_t id = 0; id < stacks.size(); id++) {
    std::span<const LocationId> stack = stacks[id];
    profile.stack_locations.insert(profile.stack_locations.end(), stack.begin(), stack.end());
    profile.stack_begin.push_back(static_cast<uint32_t>(profile.stack_locations.size()));
  }
}

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
void set_samples(Profile& profile, const std::vector<uint32_t>& new_stacks) {
  tsl::robin_map<SampleKey, size_t, BytesHash> slots;
  std::vector<SampleCount> samples;
  for (SampleCount sample : profile.samples) {
    uint32_t stack = new_stacks[to_index(sample.stack)];
    sample.stack = StackId{stack};
    SampleKey key = {stack, sample.pid, sample.tid, sample.comm};
    auto [slot, is_new] = slots.try_emplace(key, samples.size());
    if (is_new)
      samples.push_back(sample);
    else
      samples[slot->second].count += sample.count;
  }
  profile.samples = std::move(samples);
}

// What the outermost function at a location, the one that its caller called, is.
FunctionKind kind_at(const Profile& profile, LocationId id) {
  std::span<const Frame> frames = profile.frames_of(profile.locations[to_index(id)]);
  return frames.empty() ? FunctionKind::kNormal : frames.back().kind;
}

// Rebuilds all stacks: `replace(location, kind of its callee)` gives what comes in the place of
// a location, kNothing for nothing.
constexpr LocationId kNothing{UINT32_MAX};
template <class Replace>
void rewrite_stacks(Profile& profile, Replace replace) {
  SequencePool<LocationId> stacks;
  std::vector<uint32_t> new_stacks;
  std::vector<LocationId> locations;
  for (size_t i = 0; i + 1 < profile.stack_begin.size(); i++) {
    std::span<const LocationId> stack = profile.stack(StackId{static_cast<uint32_t>(i)});
    locations.clear();
    FunctionKind callee = FunctionKind::kNormal;
    for (LocationId id : stack) {
      LocationId replaced = replace(id, callee);
      if (replaced != kNothing)
        locations.push_back(replaced);
      callee = kind_at(profile, id);
    }
    new_stacks.push_back(stacks.intern(locations.empty() ? stack : std::span(locations)));
  }
  set_stacks(profile, stacks);
  set_samples(profile, new_stacks);
  drop_unused_locations(profile);
}

template <class Predicate>
bool has_kind(const Profile& profile, Predicate predicate) {
  return std::ranges::any_of(profile.frames, predicate, &Frame::kind);
}

// A location with those of the frames that are shown after a callee of some kind; kNothing if
// none is.
class WrapperFilter {
public:
  explicit WrapperFilter(Profile& profile) : profile_(profile) {}

  LocationId operator()(LocationId id, FunctionKind callee) {
    bool shows_first = shows_wrappers(callee);
    auto [known, is_new] = known_.try_emplace({to_index(id), uint64_t{shows_first}}, id);
    if (is_new)
      known.value() = filter(id, callee);
    return known->second;
  }

private:
  struct Key {
    uint64_t location;
    uint64_t shows_first;
    bool operator==(const Key&) const = default;
  };

  LocationId filter(LocationId id, FunctionKind callee) {
    Location location = profile_.locations[to_index(id)];
    std::vector<Frame> shown;
    for (const Frame& frame : profile_.frames_of(location)) {
      if (frame.kind != FunctionKind::kWrapper || shows_wrappers(callee))
        shown.push_back(frame);
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
  tsl::robin_map<Key, LocationId, BytesHash> known_;
};

}  // namespace

bool make_interrupted_exact(Profile& profile) {
  if (!has_kind(profile, returns_to_interrupted))
    return false;
  tsl::robin_map<uint32_t, LocationId> exact;
  rewrite_stacks(profile, [&](LocationId id, FunctionKind callee) {
    Location location = profile.locations[to_index(id)];
    if (!returns_to_interrupted(callee) || !location.is_return)
      return id;
    auto next = static_cast<LocationId>(profile.locations.size());
    auto [known, is_new] = exact.try_emplace(static_cast<uint32_t>(id), next);
    if (is_new) {
      location.is_return = false;
      location.frame_count = 0;
      location.unnamed = Unnamed::kNotAsked;
      profile.locations.push_back(location);
    }
    return known->second;
  });
  return !exact.empty();
}

void hide_wrappers(Profile& profile) {
  auto is_wrapper = [](FunctionKind kind) { return kind == FunctionKind::kWrapper; };
  if (has_kind(profile, is_wrapper))
    rewrite_stacks(profile, WrapperFilter(profile));
}

}  // namespace gosym
