#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "symbolize/image_symbols.h"

namespace gosym {

// Who knows the name of a function that ImageSymbols lists, or its start; none: nobody.
std::optional<FrameSource> source_of(const ImageSymbols& symbols,
                                     const FunctionRange& function);

// Of `functions` those of the name as the linker has it; if there are none, as people are shown
// it, short or in full. One place is given once.
std::vector<FunctionRange> functions_named(const ImageSymbols& symbols,
                                           std::span<const FunctionRange> functions,
                                           std::string_view name);

}  // namespace gosym
