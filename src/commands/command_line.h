#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

// Commands and their options as plain values. A command line is parsed by them, and --help is
// written from them. The library that parses is known to command_line.cpp alone.

namespace gosym {

// Says what is wrong with the text given to an option, as in "'x' is not a count"; empty if
// nothing is.
using Check = std::function<std::string(const std::string&)>;

// Takes one value of an option. A flag is given the empty text.
using Setter = std::function<void(const std::string&)>;

// Ways in which an option takes its values.
enum class Values : uint8_t {
  kOne,        // one, the last that is given
  kEach,       // one each time it is given
  kCommaList,  // likewise, or several with commas between
  kWords,      // likewise, or all words up to the next option; where words of a command may
               // follow, all numbers, if the first value is one
  kFiles,      // all words up to the next option, commas and all
  kOptional,   // one or none: --name or --name=VALUE
};

struct Option {
  // "-p,--pid"; "FILE" for an argument known by its place; "-i,--input,FILE" for both.
  std::string names;
  std::string value = {};  // what help calls the value: "PID"; empty: a flag, or an argument
  std::string help = {};   // one sentence without a full stop
  Setter set = {};         // none: the option is accepted and does nothing
  Check check = {};
  std::vector<std::string> choices = {};   // the value is one of these; empty: any
  std::vector<std::string> excludes = {};  // options that cannot be given as well: "--folded"
  std::string needs = {};                  // an option that has to be given as well
  Values values = Values::kOne;
  bool is_required = false;
};

// Options under a heading of their own in --help.
struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

// A word of another program that is none here, and what does the same: "-peek", "--callers RE".
struct ForeignWord {
  std::string word;
  std::string here;
};

struct Command {
  std::string name;
  std::string summary;  // a line of `gosym --help`
  std::string usage =
      {};  // what stands behind the name in "Usage:"; empty: made of the options
  std::vector<OptionGroup> groups = {};
  std::string examples = {};  // lines, indented by two
  // Receives the words that follow "--", or from the first on that is no option: a command of
  // its own, options included. Null: there are none.
  std::vector<std::string>* words = nullptr;
  // Changes the words behind the name before they are understood, if there is such a function.
  std::function<void(std::vector<std::string>&)> rewrite = {};
  std::vector<ForeignWord> foreign_words = {};  // looked for after that
  std::function<Result<int>()> run = {};        // gives the exit status of the program
};

struct Program {
  std::string name;
  std::string version;
  std::string summary;
  std::string examples;
  std::string (*licenses)() = nullptr;  // the text of --licenses
  std::vector<Command> commands;
  std::vector<ForeignWord> foreign_commands = {};  // "script", "gosym report --folded"
};

// Result of a command line: a command to run, or, if that is null, the exit status of what is
// done: --help, --version or --licenses has been printed, or an error has been told.
struct CommandLine {
  const Command* command = nullptr;
  int status = 0;
};

// Calls the setters of all options that were given. The result points into `program`.
CommandLine parse_command_line(const Program& program, int argc, char** argv);

// Setters. They hold the reference that they are given.
Setter into(bool& flag);
Setter into(std::string& text);
Setter into(std::vector<std::string>& texts);
// For text that a check has found to be a number that fits.
Setter into(size_t& number);
Setter into(std::optional<uint32_t>& number);
Setter into(std::vector<uint32_t>& numbers);

}  // namespace gosym
