#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace gosym {

// What the samples of a profile say of all code of one name in an image, or of all that has no
// name for one and the same reason. Inlined functions count like others.
struct FunctionTotal {
  FunctionId function = kNone;  // where its hottest line is; kNone: `unnamed` says why
  Unnamed unnamed{};
  uint32_t image = 0;
  uint32_t hottest_line = 0;  // where most of its samples are; 0 if unknown
  uint64_t self = 0;          // amount (Profile::amount) of samples in it
  uint64_t total = 0;         // in it or in what it calls; a recursion counts once

  static constexpr FunctionId kNone{UINT32_MAX};
  bool is_named() const { return function != kNone; }
};

// The most samples of its own first, then the most in total.
std::vector<FunctionTotal> function_totals(const Profile& profile);

}  // namespace gosym
