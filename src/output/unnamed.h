#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"

namespace gosym {

// Says in a few words how code gets a name that has none for this reason.
std::string_view remedy_of(Unnamed unnamed);

// The share of each source of names in all frames of all stacks: "names from  pclntab 61.2 %,
// kallsyms 20.1 %, none 18.7 %". A share that rounds to 0.0 % is left out. Empty if there are
// no frames.
std::string make_source_note(const Profile& profile);

// For the user's or the kernel's part of all stacks: how many of its frames have no name, of
// which images, and what would give them one; `top` such rows, 0 for all. Empty if all have
// one.
enum class StackPart { kUser, kKernel };
std::string make_unnamed_note(const Profile& profile, StackPart part, size_t top);

// The share of the samples that is in code without a name, the image that has most of it, and
// the remedy, in a line. Empty if it is less than half a percent.
std::string make_unnamed_line(const Profile& profile);

}  // namespace gosym
