#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "record/sampler.h"
#include "record/stacks/stack_slots.h"

namespace gosym {

// A user stack that was changed, and where it goes on on other stacks.
struct SettledStack {
  std::vector<uint64_t> frames;
  std::vector<StackSwitch> switches;
};

// Puts those of the passed callers into the user stack whose callee keeps no frame where it is,
// by its rule: none where nobody knows that. Then `settled` has the stack of the sample, which
// is changed.
void settle_passed_callers(RecordedSample& sample, std::span<const PassedCaller> passed,
                           const RuleOf& rule_of, SettledStack& settled);

}  // namespace gosym
