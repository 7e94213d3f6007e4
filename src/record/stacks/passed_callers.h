#pragma once

#include <cstdint>
#include <vector>

#include "record/sampler.h"
#include "record/stacks/stack_slots.h"

namespace gosym {

// Decides on what a sampler has marked in the user stack (kPassedCaller): takes the mark off
// where the function that returns there keeps no frame, and else the address out, as where
// nobody knows its rule yet. Then `stack` has the stack of the sample, which is changed.
void settle_passed_callers(RecordedSample& sample, const RuleOf& rule_of,
                           std::vector<uint64_t>& stack);

}  // namespace gosym
