#pragma once

#include "profile/profile.h"

namespace gosym {

// Leaves the kernel's scheduler, and what called it at once, out of the stacks of threads that
// waited: all of them were there, and what they waited in called that. Likewise the functions
// of Go's runtime by which a goroutine waits, "runtime.gopark" and what called it: the state of
// its samples tells what it waits for.
void hide_scheduler(Profile& profile);

}  // namespace gosym
