#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gosym {

inline constexpr std::string_view kGzipMagic = "\x1f\x8b";

// The contents of a gzip file, all its members, of at most so many bytes.
Result<std::string> gunzip(std::string_view file, uint64_t max_size);

}  // namespace gosym
