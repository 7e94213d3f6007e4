#include "symbolize/find_functions.h"

#include <algorithm>

#include "symbolize/names.h"

namespace gosym {

namespace {

bool is_shown_as(const ImageSymbols& symbols, const FunctionRange& function,
                 std::string_view name) {
  auto source = source_of(symbols, function);
  std::string room;
  for (NameForm form : {NameForm::kShort, NameForm::kFull})
    if (source && display_name(function.name, *source, form, room) == name)
      return true;
  return false;
}

}  // namespace

std::optional<FrameSource> source_of(const ImageSymbols& symbols,
                                     const FunctionRange& function) {
  std::vector<Call> calls;
  return symbols.find(function.address, calls);
}

std::vector<FunctionRange> functions_named(const ImageSymbols& symbols,
                                           std::span<const FunctionRange> functions,
                                           std::string_view name) {
  std::vector<FunctionRange> found;
  std::ranges::copy_if(functions, std::back_inserter(found),
                       [&](const FunctionRange& function) { return function.name == name; });
  if (found.empty())
    std::ranges::copy_if(
        functions, std::back_inserter(found),
        [&](const FunctionRange& function) { return is_shown_as(symbols, function, name); });
  auto is_same = [](const FunctionRange& one, const FunctionRange& other) {
    return one.address == other.address;
  };
  found.erase(std::unique(found.begin(), found.end(), is_same), found.end());
  return found;
}

}  // namespace gosym
