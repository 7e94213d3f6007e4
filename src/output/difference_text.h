#pragma once

#include <string>

#include "output/view_options.h"
#include "view/difference.h"

namespace gosym {

// A difference as text, Markdown, CSV or JSON, with what both profiles are of. The profiles are
// those that it was made from. Of CSV and JSON rates are of nanoseconds or events, shares of 1.
std::string difference_text(const Difference& difference, const Profile& before,
                            const Profile& after, const ViewOptions& options);
std::string difference_markdown(const Difference& difference, const Profile& before,
                                const Profile& after, const ViewOptions& options);
std::string difference_json(const Difference& difference, const Profile& before,
                            const Profile& after);

}  // namespace gosym
