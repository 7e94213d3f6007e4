#pragma once

#include <string>

namespace gosym::proc {

// The first line of a file in which the kernel shows a setting, below /proc or /sys; empty if
// it has no such setting.
std::string setting(const std::string& path);

}  // namespace gosym::proc
