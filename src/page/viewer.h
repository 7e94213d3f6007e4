#pragma once

#include <string_view>

namespace gosym::page {

// The page without its data: what comes before the data, and what comes behind it. The build
// makes them of the files in viewer/.
extern const std::string_view kViewerBegin;
extern const std::string_view kViewerEnd;

}  // namespace gosym::page
