#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/profile.h"
#include "view/frame_keys.h"

namespace gosym {

// A recursion is a function that calls itself, or up to kMostFolded that call each other in
// turn, again and again without another call between. Folded, they are there once.
inline constexpr size_t kMostFolded = 16;

// A call on the way from the root of a stack to its end.
struct CallStep {
  KeyId key{};
  uint32_t times = 1;  // that it stands for
  uint32_t place = 0;  // in the stack, of the innermost of these
};

// Folds stacks, one after the other. Their keys are below `key_count`.
class RecursionFolder {
public:
  explicit RecursionFolder(size_t key_count) : last_stack_(key_count) {}

  void fold(std::vector<CallStep>& path);

private:
  bool has_repeated(std::span<const CallStep> path);

  std::vector<uint64_t> last_stack_;  // that has each key
  uint64_t stack_ = 0;
};

// Folds the stacks of a profile. The innermost calls stay, whose lines are those of the
// samples.
void fold_recursion(Profile& profile);

}  // namespace gosym
