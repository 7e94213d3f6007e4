#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gosym::page {

// Base64 of the raw DEFLATE of some bytes, in lines.
std::string packed(std::string_view bytes);

// The bytes. An error: what is no such text, or more than so many bytes.
Result<std::string> unpacked(std::string_view text, uint64_t max_size);

}  // namespace gosym::page
