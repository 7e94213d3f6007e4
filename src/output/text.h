#pragma once

#include <string>

#include "profile/profile.h"

namespace gosym {

// A page for people: what was sampled, a table of the `top` functions with the most samples of
// their own (0: all functions), and what has no name and why.
std::string make_text(const Profile& profile, size_t top);

}  // namespace gosym
