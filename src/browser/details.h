#pragma once

#include <string>
#include <vector>

#include "browser/answer.h"

namespace gosym::browser {

// Lines on an entry of the answer: its whole name, its place, what file it is of, and where the
// name comes from, or why there is none and what would give it one.
std::vector<std::string> details_of(const Answer& answer, const ViewKey& key);

}  // namespace gosym::browser
