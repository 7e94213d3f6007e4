#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/result.h"

namespace gosym {

// A subcommand: its options as CLI11 knows them, and what runs it once they are parsed. The
// result of run() is the exit status of the program.
struct Command {
  CLI::App* app;
  std::function<Result<int>()> run;
};

// `command` is what follows "--" on the command line, which CLI11 would take apart: "[a,b]"
// for a list.
Command make_record(CLI::App& root, std::vector<std::string> command);
Command make_report(CLI::App& root);
Command make_archive(CLI::App& root);
Command make_inspect(CLI::App& root);
Command make_resolve(CLI::App& root);
Command make_doctor(CLI::App& root);

}  // namespace gosym
