#include "symbolize/find_functions.h"

#include <algorithm>

#include "base/exit_status.h"
#include "base/pattern.h"
#include "base/text.h"
#include "symbolize/names.h"

namespace gosym {

namespace {

// True for a function whose name people are shown so, in short or in full.
bool is_shown_as(const ImageSymbols& symbols, const FunctionRange& function,
                 std::string_view name) {
  auto source = source_of(symbols, function);
  std::string room;
  for (NameForm form : {NameForm::kShort, NameForm::kFull})
    if (source && display_name(function.name, *source, form, room) == name)
      return true;
  return false;
}

// The function of a stand-in for a name, "fun_6d6ad0", or "cc1plus!fun_6d6ad0".
std::optional<FunctionRange> named_by_begin(const ImageSymbols& symbols,
                                            std::string_view name) {
  constexpr std::string_view kPrefix = "fun_";
  std::string_view last = name.substr(name.rfind('!') + 1);  // all of it without one
  auto begin =
      last.starts_with(kPrefix) ? parse_hex(last.substr(kPrefix.size())) : std::nullopt;
  // The stand-in is that of a begin: an address within the function, or of one that has a name
  // by now, is no match.
  auto found = begin ? symbols.find_nameless(ImageAddress{*begin}) : std::nullopt;
  std::vector<Call> calls;  // a find() that gives some has a name for it
  if (!found || to_integer(found->address) != *begin || symbols.find(found->address, calls))
    return std::nullopt;
  // Without the file's name before it, "fun_6d6ad0" is enough; with one, that has to be the
  // file's.
  return last == name || found->name == name ? found : std::nullopt;
}

// Whose name, as it is shown in short, the condition holds for.
template <class Condition>
std::vector<FunctionRange> functions_where(const ImageSymbols& symbols,
                                           std::span<const FunctionRange> functions,
                                           Condition is_meant) {
  std::vector<FunctionRange> found;
  std::string room;
  for (const FunctionRange& function : functions)
    if (auto source = source_of(symbols, function);
        source && is_meant(display_name(function.name, *source, NameForm::kShort, room)))
      found.push_back(function);
  return found;
}

}  // namespace

std::optional<FrameSource> source_of(const ImageSymbols& symbols,
                                     const FunctionRange& function) {
  std::vector<Call> calls;
  auto source = symbols.find(function.address, calls);
  return source || !symbols.find_nameless(function.address)
             ? source
             : std::optional(FrameSource::kCallFrames);
}

std::vector<FunctionRange> all_functions(const ImageSymbols& symbols) {
  std::vector<FunctionRange> functions = symbols.functions();
  std::vector<FunctionRange> nameless = symbols.nameless_functions();
  functions.insert(functions.end(), nameless.begin(), nameless.end());
  std::ranges::stable_sort(functions, {}, &FunctionRange::address);
  return functions;
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
  if (auto nameless = named_by_begin(symbols, name); found.empty() && nameless)
    found.push_back(*nameless);
  // Aliases have one address, and lie next to each other.
  auto is_same = [](const FunctionRange& one, const FunctionRange& other) {
    return one.address == other.address;
  };
  found.erase(std::unique(found.begin(), found.end(), is_same), found.end());
  return found;
}

Result<FoundFunctions> find_functions(const ImageSymbols& symbols,
                                      std::span<const FunctionRange> functions,
                                      const std::string& wanted) {
  // From the narrowest meaning to the widest: a name that is also an expression, "main.main",
  // means itself.
  FoundFunctions found = {functions_named(symbols, functions, wanted), true};
  if (auto address = parse_hex(wanted); found.functions.empty() && address)
    std::ranges::copy_if(functions, std::back_inserter(found.functions),
                         [&](const FunctionRange& function) {
                           return *address - to_integer(function.address) < function.size;
                         });
  if (!found.functions.empty())
    return found;
  found.is_exact = false;
  auto pattern = Pattern::parse(wanted);
  if (!pattern)
    return std::move(pattern).error().with_exit_status(kUsage);
  found.functions = functions_where(
      symbols, functions, [&](std::string_view name) { return pattern->matches(name); });
  return found;
}

std::vector<FunctionRange> functions_with(const ImageSymbols& symbols,
                                          std::span<const FunctionRange> functions,
                                          std::string_view text) {
  return functions_where(symbols, functions,
                         [&](std::string_view name) { return name.find(text) != name.npos; });
}

}  // namespace gosym
