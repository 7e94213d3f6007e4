#pragma once

#include <string>

#include "profile/profile.h"

namespace gosym {

// A flame graph as a picture, for a ticket: the root below, calls above it, as wide as their
// share. No script; what is narrower than a third of a pixel is left out. A tooltip has the
// whole name, amount and percent.
std::string make_svg(const Profile& profile);

}  // namespace gosym
