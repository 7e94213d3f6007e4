#include "profile/go_stacks.h"

#include <algorithm>

#include "profile/rewrite_stacks.h"

namespace gosym {

namespace {

// What the outermost function at a location, the one that its caller called, is.
FunctionKind kind_at(const Profile& profile, LocationId id) {
  std::span<const Frame> frames = profile.frames_of(profile.locations[to_index(id)]);
  return frames.empty() ? FunctionKind::kNormal : frames.back().kind;
}

// Gives all stacks new locations: `replace(location, kind of its callee)` tells what comes in
// the place of one, kNothing for nothing.
constexpr LocationId kNothing{UINT32_MAX};
template <class Replace>
void replace_locations(Profile& profile, Replace replace) {
  rewrite_stacks(profile, [&](StackId stack, std::vector<LocationId>& locations) {
    FunctionKind callee = FunctionKind::kNormal;
    for (LocationId id : profile.stack(stack)) {
      LocationId replaced = replace(id, callee);
      if (replaced != kNothing)
        locations.push_back(replaced);
      callee = kind_at(profile, id);
    }
    std::span<const LocationId> before = profile.stack(stack);
    if (locations.empty())
      locations.assign(before.begin(), before.end());
  });
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
  replace_locations(profile, [&](LocationId id, FunctionKind callee) {
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
    replace_locations(profile, WrapperFilter(profile));
}

}  // namespace gosym
