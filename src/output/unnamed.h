#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"

namespace gosym {

// What gives code a name that has none for this reason, in a few words.
std::string_view remedy_of(Unnamed unnamed);

// "names from  pclntab 61.2 %, kallsyms 20.1 %, none 18.7 %": of all frames of all stacks.
// What rounds to 0.0 % is left out. Empty if there are none.
std::string make_source_note(const Profile& profile);

// For the user's or the kernel's part of all stacks: how many of its frames have no name, of
// which images, and what would give them one; `top` such rows, 0 for all. Empty if all have
// one.
enum class StackPart { kUser, kKernel };
std::string make_unnamed_note(const Profile& profile, StackPart part, size_t top);

// What share of the samples is in code without a name, where most of it is, and what would give
// it one, in a line. Empty if it is less than half a percent.
std::string make_unnamed_line(const Profile& profile);

}  // namespace gosym
