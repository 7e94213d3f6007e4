#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gosym::page {

// The raw DEFLATE of some bytes as text, in lines. Bits, the lowest of the first byte first,
// are taken 13 at a time, and are two digits of base 91, the higher one first; up to 6 at the
// end are one. That is 1.23 times as long as the bytes (base64: 1.33), of characters that mean
// nothing to HTML.
std::string packed(std::string_view bytes);

// The bytes. An error: what is no such text, or more than so many bytes.
Result<std::string> unpacked(std::string_view text, uint64_t max_size);

}  // namespace gosym::page
