#pragma once

#include <utility>
#include <vector>

#include "model/call.h"

namespace gosym {

// Takes out of the calls at one address those that Go's runtime leaves out of its stacks:
// wrappers, unless what they call is a panic. Where nothing else is there, the function that
// holds the code stays, for an address has to have a name.
inline void hide_wrappers(std::vector<Call>& calls) {
  if (calls.empty())
    return;
  Call outermost = calls.back();
  FunctionKind callee = FunctionKind::kNormal;
  std::erase_if(calls, [&](const Call& call) {
    return is_hidden(call.kind, std::exchange(callee, call.kind));
  });
  if (calls.empty())
    calls.push_back(outermost);
}

}  // namespace gosym
