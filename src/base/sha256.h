#pragma once

#include <string>
#include <string_view>

namespace gosym {

// The 32 bytes of SHA-256 (FIPS 180-4).
std::string sha256(std::string_view data);

}  // namespace gosym
