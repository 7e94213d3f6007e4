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
  if (frames.empty())
    return false;
  std::string_view name = profile.name_of(frames.back().function);
  return name == "runtime.goexit" || name == "runtime.goexit.abi0";
}

// "main.start", but no function of C or C++.
bool is_go_name(std::string_view name) {
  return name.find('.') != std::string_view::npos && name.find("::") == std::string_view::npos;
}

// Nothing in Go calls runtime.goexit; C code may, whose callback a goroutine ran.
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

}  // namespace gosym
