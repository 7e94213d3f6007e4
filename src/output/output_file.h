#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gosym {

// Writes all of `data` to a file, or to standard output for "-". A regular file is there whole
// or, if this fails, as it was before. That nobody reads a pipe any more is no failure.
Result<> write_output(const std::string& path, std::string_view data);

}  // namespace gosym
