#include "profile/wait_frames.h"

#include <algorithm>
#include <string_view>

namespace gosym {

namespace {

// "runtime.futex", "internal/runtime/syscall.Syscall6"; "internal/poll.runtime_pollWait", which
// is the runtime's under another package's name; and the assembly that enters the kernel.
bool is_of_go_runtime(std::string_view package, std::string_view name) {
  if (package == "runtime" || package.starts_with("runtime/") ||
      package.starts_with("internal/runtime/"))
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
  if (found == frames.end())
    return frames.empty() ? 0 : kNone;
  return static_cast<uint32_t>(found - frames.begin());
}

WaitFrames::Place WaitFrames::find(std::span<const LocationId> stack) const {
  auto place = [&](auto has) {
    return static_cast<size_t>(std::ranges::find_if(stack, has) - stack.begin());
  };
  size_t found = place([&](LocationId id) { return has_such_[to_index(id)]; });
  if (found == stack.size())
    found = place([&](LocationId id) { return !is_kernel_[to_index(id)]; });
  if (found == stack.size())
    found = 0;
  return {found, depth(stack[found])};
}

}  // namespace gosym
