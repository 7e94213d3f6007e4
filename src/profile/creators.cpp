#include "profile/creators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "profile/rewrite_stacks.h"

namespace gosym {

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
  // The innermost of inlined calls has the go statement.
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
  return !frames.empty() && profile.name_of(frames.back().function) == "runtime.goexit";
}

}  // namespace

bool name_creators(Profile& profile) {
  CreatorFrames creators(profile);
  bool has_any = false;
  rewrite_stacks(profile, [&](StackId id, std::vector<LocationId>& locations) {
    std::span<const LocationId> stack = profile.stack(id);
    locations.assign(stack.begin(), stack.end());
    if (stack.size() < 3 || !is_goroutine_root(profile, stack[stack.size() - 2]))
      return;
    locations.pop_back();
    locations.back() = creators.of(stack.back());
    has_any = true;
  });
  return has_any;
}

}  // namespace gosym
