#pragma once

#include <span>
#include <vector>

#include "base/sequence_pool.h"
#include "profile/profile.h"

namespace gosym {

// Puts other stacks in the place of those of a profile: stack i becomes number new_stacks[i] of
// `stacks`. Samples that have become equal are added up, and locations that no stack passes
// through any more are dropped.
void replace_stacks(Profile& profile, SequencePool<LocationId> stacks,
                    std::span<const uint32_t> new_stacks);

// Likewise, with a function that appends the new locations of a stack to a vector.
template <class Append>
void rewrite_stacks(Profile& profile, Append append) {
  SequencePool<LocationId> stacks;
  std::vector<uint32_t> new_stacks;
  std::vector<LocationId> locations;
  for (uint32_t i = 0; i < profile.stack_count(); i++) {
    locations.clear();
    append(StackId{i}, locations);
    new_stacks.push_back(stacks.intern(locations));
  }
  replace_stacks(profile, std::move(stacks), new_stacks);
}

}  // namespace gosym
