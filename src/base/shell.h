#pragma once

#include <string>
#include <string_view>

namespace gosym {

// Text from outside as one word of a shell's command line, to be shown and copied: as it is, or
// in quotes where a shell would not take it for that. What printable() does not let pass is
// escaped in $'...', as bash, ksh and zsh read it.
std::string shell_quoted(std::string_view text);

// A path as programs take it for one on their command line, also where it begins as an option.
std::string as_operand(std::string_view path);

}  // namespace gosym
