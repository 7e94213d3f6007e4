#pragma once

#include "profile/profile.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// The answer of the file at a path.
OwnCode own_code_of(const ImageSymbols& symbols, std::string_view path);

}  // namespace gosym
