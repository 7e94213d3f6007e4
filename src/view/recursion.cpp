#include "view/recursion.h"

#include <algorithm>
#include <map>
#include <utility>

#include "profile/rewrite_stacks.h"

namespace gosym {

namespace {

// Takes out of a path what repeats the `length` steps before it.
void fold_repeats(std::vector<CallStep>& path, size_t length) {
  size_t kept = 0;
  auto is_repeat = [&](size_t at) {
    if (kept < length || at + length > path.size())
      return false;
    for (size_t i = 0; i < length; i++)
      if (path[kept - length + i].key != path[at + i].key)
        return false;
    return true;
  };
  // Steps are moved to the front in place. A repeat adds its times to the steps before it, and
  // leaves its place to them, so that the innermost one is kept.
  for (size_t at = 0; at < path.size();) {
    if (!is_repeat(at)) {
      path[kept++] = path[at++];
      continue;
    }
    for (size_t i = 0; i < length; i++, at++) {
      CallStep& step = path[kept - length + i];
      step.times += path[at].times;
      step.place = path[at].place;
    }
  }
  path.resize(kept);
}

class StackFolder {
public:
  explicit StackFolder(Profile& profile)
      : profile_(profile), keys_(profile, Dimension::Kind::kFunction), folder_(keys_.size()) {}

  // Appends what is left of a stack.
  void append(StackId id, std::vector<LocationId>& locations) {
    std::span<const LocationId> stack = profile_.stack(id);
    steps_.clear();
    uint32_t place = 0;  // from the end of the stack, as the keys of a location are
    for (LocationId location : stack)
      for (KeyId key : keys_.of(location))
        steps_.push_back({.key = key, .place = place++});
    // Cycles are looked for from the root, in the order of calls.
    std::ranges::reverse(steps_);
    folder_.fold(steps_);
    std::vector<bool> is_kept(place);
    for (const CallStep& step : steps_)
      is_kept[step.place] = true;

    // The stack is put together again of the locations whose calls are left.
    place = 0;
    for (LocationId location : stack) {
      size_t count = keys_.of(location).size();
      // A location may be kept in part, for a cycle can end among its inlined functions. One
      // without frames has one key, and is kept or not.
      std::vector<bool> kept(is_kept.begin() + place, is_kept.begin() + place + count);
      place += static_cast<uint32_t>(count);
      if (std::ranges::all_of(kept, [](bool is) { return is; }))
        locations.push_back(location);
      else if (std::ranges::any_of(kept, [](bool is) { return is; }))
        locations.push_back(part_of(location, std::move(kept)));
    }
  }

private:
  // The location with these of its frames.
  LocationId part_of(LocationId id, std::vector<bool> kept) {
    auto next = static_cast<LocationId>(profile_.locations.size());
    auto [known, is_new] = parts_.try_emplace({id, std::move(kept)}, next);
    if (!is_new)
      return known->second;
    Location location = profile_.locations[to_index(id)];
    std::vector<Frame> frames;
    for (size_t i = 0; i < location.frame_count; i++)
      if (known->first.second[i])
        frames.push_back(profile_.frames[location.first_frame + i]);
    location.first_frame = static_cast<uint32_t>(profile_.frames.size());
    location.frame_count = static_cast<uint32_t>(frames.size());
    profile_.frames.insert(profile_.frames.end(), frames.begin(), frames.end());
    profile_.locations.push_back(location);
    return next;
  }

  Profile& profile_;
  FrameKeys keys_;
  RecursionFolder folder_;
  std::vector<CallStep> steps_;
  std::map<std::pair<LocationId, std::vector<bool>>, LocationId> parts_;
};

}  // namespace

// A function that calls itself is one step before the cycles that it is part of are looked for:
// shorter cycles are folded first, or "a b b a b" would have none.
void RecursionFolder::fold(std::vector<CallStep>& path) {
  if (!has_repeated(path))
    return;
  for (size_t length = 1; length <= kMostFolded && 2 * length <= path.size(); length++)
    fold_repeats(path, length);
}

// Most stacks have no key twice.
bool RecursionFolder::has_repeated(std::span<const CallStep> path) {
  stack_++;
  return std::ranges::any_of(path, [this](const CallStep& step) {
    return std::exchange(last_stack_[to_index(step.key)], stack_) == stack_;
  });
}

void fold_recursion(Profile& profile) {
  StackFolder folder(profile);
  rewrite_stacks(profile, [&](StackId stack, std::vector<LocationId>& locations) {
    folder.append(stack, locations);
  });
  profile.filter += profile.filter.empty() ? "--fold-recursion" : " --fold-recursion";
}

}  // namespace gosym
