#include "profile/called_functions.h"

namespace gosym {

FunctionId CalledFunctions::add(const Call& call) {
  StringPool& strings = profile_.strings;
  StringId name = strings.intern(call.function);
  Function function = {
      .name = name, .system_name = name, .file = strings.intern(call.file), .package = {}};
  function.start_line = call.start_line;
  auto next = FunctionId{static_cast<uint32_t>(profile_.functions.size())};
  auto [known, is_new] = ids_.try_emplace({function.name, function.file}, next);
  if (is_new)
    profile_.functions.push_back(function);
  return known->second;
}

}  // namespace gosym
