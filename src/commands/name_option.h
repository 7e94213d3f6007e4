#pragma once

#include <optional>

#include "commands/command_line.h"
#include "symbolize/names.h"

namespace gosym {

// The option --demangle; `form` stays none unless it is given.
Option name_option(std::optional<NameForm>& form);

}  // namespace gosym
