#pragma once

#include <string>
#include <string_view>

namespace gosym::page {

// Base64 of the raw DEFLATE of some bytes, in lines.
std::string packed(std::string_view bytes);

}  // namespace gosym::page
