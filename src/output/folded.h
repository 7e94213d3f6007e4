#pragma once

#include <string>

#include "profile/profile.h"

namespace gosym {

// The text that flamegraph.pl and its like read: one line for each distinct stack, sorted.
//
//   line = comm (";" frame)* " " count     outermost frame first
//
// Inlined calls are frames of their own; kernel frames end in "_[k]". Readers split at ";" and
// at the last space, so that names may have spaces; in them ";" becomes ":".
std::string make_folded(const Profile& profile);

}  // namespace gosym
