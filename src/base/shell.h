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

// The exit status of a child that waitpid(2) told of, as a shell has it: 128 and the number of
// the signal where one ended it.
int exit_status_of(int wait_status);

// A variable of the environment; empty: it is not set.
std::string environment(const char* name);

}  // namespace gosym
