#pragma once

#include <string>
#include <vector>

#include "output/notes.h"
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

// Notes of a page about a difference: the method, and the rows that changed by more than noise,
// "dearer, +5.2 %" and "main.parse: 1.20 % before, 1.26 % after".
std::vector<Note> difference_notes(const Difference& difference, const Profile& before,
                                   const Profile& after);

}  // namespace gosym
