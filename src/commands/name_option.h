#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "symbolize/names.h"

namespace gosym {

// The option --demangle; `form` stays none unless it is given.
void add_name_option(CLI::App& app, std::optional<NameForm>& form);

}  // namespace gosym
