#include "profile/go_stacks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "profile/rewrite_stacks.h"

namespace gosym {

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
    if (locations.empty())
      locations.assign(before.begin(), before.end());
  });
}

}  // namespace gosym
