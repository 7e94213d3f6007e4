#pragma once

#include "profile/profile.h"

namespace gosym {

// Leaves the kernel's scheduler, and what called it at once, out of the stacks of threads that
// waited: all of them were there, and what they waited in called that.
void hide_scheduler(Profile& profile);

}  // namespace gosym
