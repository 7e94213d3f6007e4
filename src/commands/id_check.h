#pragma once

#include <functional>
#include <string>

namespace gosym {

// A check for CLI11, of the id of a "process" or a "thread": what is wrong with the text, or
// nothing. CLI11's own words for it are "Could not convert".
std::function<std::string(const std::string&)> check_id(const char* kind);

}  // namespace gosym
