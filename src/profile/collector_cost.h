#pragma once

#include <string_view>

#include "profile/profile.h"

namespace gosym {

// Charges the CPU time of the garbage collector's own goroutines to those who allocate: what
// they leave has to be collected. A sample of the collector goes to the stacks of the same
// process that were in runtime.mallocgc, in proportion to the time there; in the place of what
// runtime.mallocgc called is then the function kCollectorCost. The sums stay what they were.
//
// It is an estimate: that time goes with the number and size of what is allocated, as the work
// of the collector does, but not with how much of it lives on. A process without samples in
// runtime.mallocgc keeps its stacks.
void charge_collector(Profile& profile);

inline constexpr std::string_view kCollectorCost = "runtime.gc (estimated share)";

// A note for a profile in which the cost was charged; else empty.
std::string_view estimate_of(const Profile& profile);

}  // namespace gosym
