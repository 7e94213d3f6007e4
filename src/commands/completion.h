#pragma once

#include <string>

#include "commands/command_line.h"

namespace gosym {

// `gosym completion`, which writes what the shells complete the commands of a program by. It
// refers to the program, and is one of its commands.
Command make_completion(const Program& program);

// The scripts: functions that offer what stands in the tables of options, and nothing else.
std::string bash_completion(const Program& program);
std::string zsh_completion(const Program& program);
std::string fish_completion(const Program& program);

}  // namespace gosym
