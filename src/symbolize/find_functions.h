#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// The source of the name of a function that ImageSymbols lists, or of its start; none: it has
// no name.
std::optional<FrameSource> source_of(const ImageSymbols& symbols,
                                     const FunctionRange& function);

// All functions, by address, those that nobody has a name for among them.
std::vector<FunctionRange> all_functions(const ImageSymbols& symbols);

// The functions of `functions` with the name as the linker has it; if there are none, as people
// are shown it, short or in full. One place is given once.
std::vector<FunctionRange> functions_named(const ImageSymbols& symbols,
                                           std::span<const FunctionRange> functions,
                                           std::string_view name);

struct FoundFunctions {
  std::vector<FunctionRange> functions;
  bool is_exact = false;  // the name or the address was that of each of them
};

// The functions of `functions` with the name; if there are none and it can be an address, the
// one there; else those whose short name it matches as a regular expression. An error: it has
// to be an expression, and is none.
Result<FoundFunctions> find_functions(const ImageSymbols& symbols,
                                      std::span<const FunctionRange> functions,
                                      const std::string& wanted);

// The functions of `functions` whose short name contains the text.
std::vector<FunctionRange> functions_with(const ImageSymbols& symbols,
                                          std::span<const FunctionRange> functions,
                                          std::string_view text);

}  // namespace gosym
