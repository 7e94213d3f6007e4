#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// Who knows the name of a function that ImageSymbols lists, or its start; none: nobody.
std::optional<FrameSource> source_of(const ImageSymbols& symbols,
                                     const FunctionRange& function);

// All functions, by address, those that nobody has a name for among them.
std::vector<FunctionRange> all_functions(const ImageSymbols& symbols);

// Of `functions` those of the name as the linker has it; if there are none, as people are shown
// it, short or in full. One place is given once.
std::vector<FunctionRange> functions_named(const ImageSymbols& symbols,
                                           std::span<const FunctionRange> functions,
                                           std::string_view name);

struct FoundFunctions {
  std::vector<FunctionRange> functions;
  bool is_exact = false;  // the name or the address was that of each of them
};

// Of `functions` those of the name; if there are none and it can be an address, the one there;
// else those whose name, as it is shown in short, it matches as a regular expression. Fails if
// it has to be one, and is none.
Result<FoundFunctions> find_functions(const ImageSymbols& symbols,
                                      std::span<const FunctionRange> functions,
                                      const std::string& wanted);

// Of `functions` those whose name, as it is shown in short, contains the text.
std::vector<FunctionRange> functions_with(const ImageSymbols& symbols,
                                          std::span<const FunctionRange> functions,
                                          std::string_view text);

}  // namespace gosym
