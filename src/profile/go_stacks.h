#pragma once

#include "profile/profile.h"

namespace gosym {

// Reads stacks as Go's runtime does. What a frame means may depend on the one that it called,
// which the location alone does not tell.

// Takes wrappers out, unless they call a panic: the compiler made them, and the runtime leaves
// them out of its stacks. A stack of nothing else stays as it is.
void hide_wrappers(Profile& profile);

}  // namespace gosym
