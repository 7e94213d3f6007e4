#pragma once

#include <string>
#include <string_view>

#include "output/screen.h"

namespace gosym {

enum class ColourMode : uint8_t { kAuto, kAlways, kNever };

// What standard output is: the size of the terminal, or no limits. Colours as the mode says; by
// kAuto on a terminal, unless NO_COLOR is set or TERM is "dumb".
Screen standard_output(ColourMode mode);

// Shows text on the terminal through the pager that GOSYM_PAGER or PAGER names, or less, if it
// is longer than the screen. False if there is none: then nothing was written.
bool show_in_pager(std::string_view text, const Screen& screen);

}  // namespace gosym
