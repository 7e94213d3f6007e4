#pragma once

#include <string>

#include "output/view_options.h"
#include "profile/profile.h"

namespace gosym {

// One JSON document for programs: what was recorded, how good it is, the functions with their
// lines, and the call tree without what is below options.least_percent. gosym-formats(5) has
// its keys, which stay; new ones may come.
std::string make_report_json(const Profile& profile, const ViewOptions& options);

}  // namespace gosym
