#pragma once

#include "profile/profile.h"

namespace gosym {

// SampleCount::state of threads that Go's runtime keeps for work to come, and of its
// watchman: they sleep because there is nothing to do, whatever the program waits for.
inline constexpr std::string_view kIdleThread = "idle thread of Go's runtime";

// Says so of the waits of such threads.
void label_idle_threads(Profile& profile);

// Leaves these waits out, and counts in Profile::idle_ns what they came to; not if nothing else
// is there.
void leave_out_idle_threads(Profile& profile);

}  // namespace gosym
