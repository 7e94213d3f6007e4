#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

// Commands and their options as plain values. A command line is parsed by them, and --help is
// written from them. The library that parses is known to command_line.cpp alone.

namespace gosym {

// The values of an option. Parsing is checking: there is one function for both, and what it
// understands is stored. A command runs after all values on its line were taken.
struct Take {
  // Takes one value: stores what it says, or returns what is wrong with it, as in "'x' is not a
  // count". A flag is given the empty text.
  using Parse = std::function<std::string(const std::string&)>;

  Take() = default;
  template <std::invocable<const std::string&> Taker>
  Take(Taker taker, std::vector<std::string> words = {})  // NOLINT(google-explicit-constructor)
      : parse(std::move(taker)), choices(std::move(words)) {}

  Parse parse = {};
  std::vector<std::string> choices = {};  // all values that there are; empty: any
};

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

// Lists of values that a shell can make itself.
enum class Listed : uint8_t {
  kByWord,  // what the word for the value says: PID, FILE, DIR, ...
  kFiles,
  kFolders,
  kProcesses,  // by number
  kProcessesAndFiles,
  kPrograms,  // that run, by name
  kUsers,
  kNothing,
};

struct Option {
  // "-p,--pid"; "FILE" for an argument known by its place; "-i,--input,FILE" for both.
  std::string names;
  std::string value = {};  // what help calls the value: "PID"; empty: a flag, or an argument
  std::string help = {};   // one sentence without a full stop
  Take take = {};          // none: the option is accepted and does nothing
  std::vector<std::string> excludes = {};  // options that cannot be given as well: "--folded"
  std::string needs = {};                  // an option that has to be given as well
  Values values = Values::kOne;
  bool is_required = false;
  // For completion: values that are likely, where others are allowed, and a list of the
  // shell's.
  std::vector<std::string> likely = {};
  Listed listed = Listed::kByWord;
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
  // Gets the line from the name on, and may change what stands behind that before it is
  // understood; none: it stays.
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

// Takes the values of all options that were given. The result points into `program`.
CommandLine parse_command_line(const Program& program, int argc, char** argv);

// The options of the program itself, and the one that each command has besides its own.
std::vector<Option> program_options();
Option help_option();

// "FILE" of "-i,--input,FILE": the argument that an option is when it stands without its name;
// empty: it is none.
std::string argument_name(const Option& option);
// True if it has a name, and no value.
bool is_flag(const Option& option);

// Makers of a Take. It holds the reference that it is given.

// A flag: the variable gets this value.
template <class T>
Take sets(T& variable, std::type_identity_t<T> value) {
  return [&variable, value = std::move(value)](const std::string& /*none*/) {
    variable = value;
    return std::string();
  };
}

// Any text; a flag; each text.
Take into(std::string& text);
Take into(std::optional<std::string>& text);
Take into(bool& flag);
Take into(std::vector<std::string>& texts);

// A list gets what was parsed as one more, another variable as its value.
template <class T, class U>
void store(T& variable, U value) {
  if constexpr (requires { variable.push_back(std::move(value)); } &&
                !std::is_same_v<T, std::string>)
    variable.push_back(std::move(value));
  else
    variable = std::move(value);
}

// Stores the value that `parse` gives as a Result, or says its error.
template <class T, class Parse>
Take into(T& variable, Parse parse) {
  return [&variable, parse](const std::string& text) -> std::string {
    auto parsed = parse(text);
    if (!parsed)
      return parsed.error().message();
    store(variable, *std::move(parsed));
    return {};
  };
}

// "'x' is not one of a, b"
std::string not_one_of(const std::string& text, const std::vector<std::string>& choices);

// One of some words, each with what it stands for.
template <class T>
Take one_of(T& variable,
            std::vector<std::pair<std::string, std::type_identity_t<T>>> meanings) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : meanings)
    words.push_back(word);
  auto parse = [&variable, words, meanings = std::move(meanings)](const std::string& text) {
    for (const auto& [word, meaning] : meanings)
      if (word == text) {
        variable = meaning;
        return std::string();
      }
    return not_one_of(text, words);
  };
  return {parse, words};
}
// Likewise, where words stand for themselves.
Take one_of(std::string& word, const std::vector<std::string>& choices);

}  // namespace gosym
