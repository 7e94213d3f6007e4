#pragma once

#include "profile/profile.h"
#include "symbolize/recorded_file.h"

namespace gosym {

// Tells the profile which package of this system would name the code of its stripped images.
// Files that a recording has kept may be of another system, and are passed over.
void find_debug_packages(Profile& profile, const HeldFiles& held);

}  // namespace gosym
