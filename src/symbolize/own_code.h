#pragma once

#include "profile/profile.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// What the file at a path says of which code of it is own, as is_own() takes it.
OwnCode own_code_of(const ImageSymbols& symbols, std::string_view path);

}  // namespace gosym
