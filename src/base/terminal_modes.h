#pragma once

#include <string_view>

namespace gosym {

// Ends all ways in which a terminal may report its pointer.
inline constexpr std::string_view kNoPointerReports =
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l";

}  // namespace gosym
