#pragma once

#include <functional>
#include <string>

// Checks for CLI11 of what the user gave an option: what is wrong with the text, or nothing.

namespace gosym {

// Of the id of a "process" or a "thread". CLI11's own words for it are "Could not convert".
std::function<std::string(const std::string&)> check_id(const char* kind);

// Of what may not be empty: an empty variable of a script is not the absence of the option.
std::string check_given(const std::string& text);

}  // namespace gosym
