#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"

namespace gosym {

// "[stripped libc.so.6]": all code of an image without a name for this reason, as one.
std::string unnamed_group(Unnamed unnamed, const ProfileImage& image);

// For the user's or the kernel's part of all stacks: how many of its frames have no name, of
// which images, and what would give them one. Empty if all have one.
enum class StackPart { kUser, kKernel };
std::string make_unnamed_note(const Profile& profile, StackPart part);

}  // namespace gosym
