#pragma once

#include "profile/profile.h"

namespace gosym {

// Reads stacks as Go's runtime does. What a frame means may depend on the one that it called,
// which the location alone does not tell.

// The return address of a function that interrupts another, such as runtime.sigpanic, is the
// interrupted instruction, not one after a call. Puts exact locations in the place of such
// ones, which the symbolizer has yet to see. False if there were none.
bool make_interrupted_exact(Profile& profile);

// Takes wrappers out, unless they call a panic: the compiler made them, and the runtime leaves
// them out of its stacks. A stack of nothing else stays as it is.
void hide_wrappers(Profile& profile);

}  // namespace gosym
