#pragma once

#include <string>

#include "output/table.h"
#include "output/view_options.h"
#include "profile/profile.h"

namespace gosym {

// The report for a person: a header, the view that was asked for, and notes on what is missing.
std::string make_text(const Profile& profile, const ViewOptions& options);

// The view as a table, for csv and the like: all of its rows. A tree has a row a node, and its
// depth as a column.
Table make_table(const Profile& profile, const ViewOptions& options);

// For a message: a line on the recording, ten functions, the largest paths.
std::string make_markdown(const Profile& profile, const ViewOptions& options);

}  // namespace gosym
