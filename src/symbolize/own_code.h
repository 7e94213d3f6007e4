#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// "github.com/owner/name" of a package there: the hosts that have a repository at such a path.
// Empty: which part of the path is the repository cannot be told.
std::string repository_of(std::string_view package);

// The answer of the file at a path.
OwnCode own_code_of(const ImageSymbols& symbols, std::string_view path);

}  // namespace gosym
