#include "commands/command_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"

namespace gosym {

// The way of a command line through parse_command_line(): words of a command of its own are
// cut off, words of other programs are rewritten or answered, the library CLI11 takes the
// options, and last conflicts between these are looked for. Help and most errors are written
// here, from the tables of options.

namespace {

bool is_argument(const Option& option) {
  return !option.names.starts_with('-');
}

}  // namespace

bool is_flag(const Option& option) {
  return option.value.empty() && !is_argument(option);
}

std::vector<Option> program_options() {
  return {
      {.names = "-h,--help", .help = "Show this help; after a command, that of the command"},
      {.names = "--version", .help = "Show the version, and how it was built"},
      {.names = "--licenses", .help = "Show the licences of gosym and of what is inside it"}};
}

Option help_option() {
  return {.names = "-h,--help", .help = "Show this help"};
}

std::string argument_name(const Option& option) {
  std::string_view last = split(option.names, ',').back();
  return last.starts_with('-') ? "" : std::string(last);
}

namespace {

// ---- help -------------------------------------------------------------------------------

constexpr size_t kHelpColumn = 28;  // where what an option does begins
constexpr size_t kMinWidth = 60;
constexpr size_t kMaxWidth = 100;  // longer lines are hard to read
constexpr size_t kPipeWidth = 80;

// A pipe has no width of its own: kPipeWidth is that of most terminals.
size_t output_width() {
  struct winsize window {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0)
    return kPipeWidth;
  return std::clamp<size_t>(window.ws_col, kMinWidth, kMaxWidth);
}

// The words of `text`, the first of them in the place where the line stands.
std::string wrapped(std::string_view text, size_t indent, size_t width) {
  std::string lines;
  size_t column = indent;
  for (std::string_view word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > width) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      column++;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

std::string help_row(std::string left, std::string_view help, size_t width) {
  left = "  " + left;
  std::string gap = left.size() + 2 > kHelpColumn ? '\n' + std::string(kHelpColumn, ' ')
                                                  : std::string(kHelpColumn - left.size(), ' ');
  return left + gap + wrapped(help, kHelpColumn, width) + '\n';
}

bool takes_words(const Option& option) {
  return option.values == Values::kWords || option.values == Values::kFiles;
}

// "-p, --pid PID"; without the name of the argument that "-i,--input,FILE" is as well.
std::string names_in_help(const Option& option) {
  std::string text;
  for (std::string_view name : split(option.names, ','))
    if (name.starts_with('-') || is_argument(option))
      text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  if (option.values == Values::kOptional)
    return fmt::format("{}[={}]", text, option.value);
  return option.value.empty() ? text : fmt::format("{} {}", text, option.value);
}

std::string usage_of(const Command& command) {
  if (!command.usage.empty())
    return command.usage;
  std::string usage = "[OPTIONS]";
  for (const OptionGroup& group : command.groups)
    for (const Option& option : group.options)
      if (std::string name = argument_name(option); !name.empty()) {
        name += takes_words(option) ? "..." : "";
        usage += option.is_required ? " " + name : fmt::format(" [{}]", name);
      }
  return usage;
}

std::string help_text(const Program& program) {
  std::string text = fmt::format("{}\n\nUsage: {} COMMAND [OPTIONS]\n\nCommands:\n",
                                 program.summary, program.name);
  size_t width = output_width();
  for (const Command& command : program.commands)
    text += help_row(command.name, command.summary, width);
  text += help_row("help [COMMAND]", "Show this help, or that of a command", width);
  text += "\nOptions:\n";
  for (const Option& option : program_options())
    text += help_row(names_in_help(option), option.help, width);
  return text + "\nExamples:\n" + program.examples;
}

std::string help_text(const Program& program, const Command& command) {
  constexpr std::string_view kLead = "Usage: ";
  size_t width = output_width();
  std::string line = fmt::format("{} {} {}", program.name, command.name, usage_of(command));
  std::string text =
      fmt::format("{}\n\n{}{}\n", command.summary, kLead, wrapped(line, kLead.size(), width));
  // Arguments of all groups come first under one heading. A group of nothing else has none of
  // its own.
  std::string arguments;
  std::string options;
  for (const OptionGroup& group : command.groups) {
    std::string rows;
    for (const Option& option : group.options)
      (is_argument(option) ? arguments : rows) +=
          help_row(names_in_help(option), option.help, width);
    if (!rows.empty())
      options += fmt::format("\n{}:\n{}", group.title, rows);
  }
  if (!arguments.empty())
    text += "\nArguments:\n" + arguments;
  text += options.empty() ? "\nOptions:\n" : options;
  text += help_row(names_in_help(help_option()), help_option().help, width);
  return text + "\nExamples:\n" + command.examples;
}

// ---- parsing ----------------------------------------------------------------------------

// The value that the library gives a flag.
constexpr std::string_view kFlagValue = "true";

// A flag may come several times, as in scripts that put a line together.
void add_flag(CLI::Option& added, bool takes_value) {
  added.expected(0)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  // Without this the library takes "--quiet=false", which no flag here understands.
  added.disable_flag_override(!takes_value);
}

void add_values(CLI::Option& added, const Option& option) {
  constexpr int kAnyNumber = 1 << 29;  // the library's own "without limit"
  // The library cuts lists at commas; the files of kFiles may have commas in their names.
  if (option.values == Values::kCommaList || option.values == Values::kWords)
    added.delimiter(',');
  if (option.values != Values::kOne)
    added.expected(1, kAnyNumber)->allow_extra_args(takes_words(option));
  else
    added.multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // as git and perf do
  added.required(option.is_required);
}

// "--pid" of "-p,--pid": what messages call an option.
std::string message_name(const Option& option) {
  for (std::string_view name : split(option.names, ','))
    if (name.starts_with("--"))
      return std::string(name);
  return std::string(split(option.names, ',').front());
}

// The option outlives the parser, which refers to it.
void add_option(CLI::App& app, const Option& option) {
  bool is_bare = is_flag(option) || option.values == Values::kOptional;
  CLI::callback_t take_all = [&app, &option, is_bare](const CLI::results_t& /*values*/) {
    if (!option.take.parse)
      return true;
    // The callback runs once, after the whole line was read, with those values that the library
    // would keep: the last of several. All that were given are taken instead: a wrong one is an
    // error though a later one counts, and that one is stored over it.
    for (const std::string& value : app.get_option(message_name(option))->results())
      if (std::string wrong = option.take.parse(is_bare && value == kFlagValue ? "" : value);
          !wrong.empty())
        throw CLI::ValidationError(message_name(option), wrong);
    return true;
  };
  CLI::Option* added = app.add_option(option.names, take_all);
  if (is_bare)
    add_flag(*added, option.values == Values::kOptional);
  else
    add_values(*added, option);
}

// Options that were given though they cannot be given together, or not without another. Empty:
// there are none.
std::string find_conflict(const CLI::App& app, const Command& command) {
  auto is_given = [&app](const std::string& name) { return app.count(name) > 0; };
  for (const OptionGroup& group : command.groups)
    for (const Option& option : group.options) {
      std::string name = message_name(option);
      if (!is_given(name))
        continue;
      for (const std::string& other : option.excludes)
        if (other != name && is_given(other))
          return fmt::format("{} and {} cannot be used together", name, other);
      if (!option.needs.empty() && !is_given(option.needs))
        return fmt::format("{} needs {}", name, option.needs);
    }
  return {};
}

// Number of letters that have to be put in, left out, changed or swapped with the next one to
// make one word of the other.
size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<size_t>> least(from.size() + 1, std::vector<size_t>(to.size() + 1));
  for (size_t i = 0; i <= from.size(); i++)
    for (size_t j = 0; j <= to.size(); j++) {
      size_t& here = least[i][j];
      if (i == 0 || j == 0) {
        here = i + j;
        continue;
      }
      // The distance of Damerau and Levenshtein, by the table of all beginnings of both words.
      here = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1,
                       least[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        here = std::min(here, least[i - 2][j - 2] + 1);
    }
  return least[from.size()][to.size()];
}

// The one that was most likely meant; empty if none is close.
std::string closest(std::string_view word, std::span<const std::string> names) {
  constexpr size_t kLongestName = 64;  // of options, by far
  if (word.size() > kLongestName)
    return {};
  // In a word of five letters, two other letters make another word.
  size_t limit = word.size() - std::min(word.size(), word.find_first_not_of('-')) < 6 ? 1 : 2;
  std::string found;
  for (const std::string& name : names)
    if (size_t far = distance(word, name); far <= limit) {
      found = name;
      if (far == 0)
        break;
      // Later names have to be closer, so that the first of equals wins.
      limit = far - 1;
    }
  return found;
}

std::vector<std::string> long_options(const Command& command) {
  std::vector<std::string> names = {"--help"};
  for (const OptionGroup& group : command.groups)
    for (const Option& option : group.options)
      for (std::string_view name : split(option.names, ','))
        if (name.starts_with("--"))
          names.emplace_back(name);
  return names;
}

// The option that comes closest: "--callers" for "--callrs=main".
std::string closest_option(std::string_view word, const Command& command) {
  return word.starts_with("--") ? closest(word.substr(0, word.find('=')), long_options(command))
                                : std::string();
}

// `guess` is what may have been meant; it may be empty.
CommandLine usage_error(const Program& program, const std::string& command,
                        std::string_view message, std::string_view guess) {
  std::string meant = guess.empty() ? "" : fmt::format("did you mean {}? ", guess);
  print(stderr, "{0}: error: {1}\n{0}: hint: {4}see '{0}{2}{3} --help'\n", program.name,
        message, command.empty() ? "" : " ", command, meant);
  return {.status = kUsage};
}

std::vector<std::string> command_names(const Program& program) {
  std::vector<std::string> names;
  for (const Command& command : program.commands)
    names.push_back(command.name);
  return names;
}

// The library says "A subcommand is required", whatever was given in its place.
std::string unknown_word(std::string_view word) {
  return fmt::format("unknown {} '{}'", word.starts_with('-') ? "option" : "command",
                     printable(word));
}

CommandLine tell_what_is_here(const Program& program, std::string_view problem,
                              const ForeignWord& foreign) {
  print(stderr, "{0}: error: {1}\n{0}: hint: in {0}: {2}\n", program.name, problem,
        foreign.here);
  return {.status = kUsage};
}

// A user who gives none at all asks what there is.
CommandLine unknown_command(const Program& program, const std::vector<std::string>& given) {
  if (given.empty()) {
    std::string text = help_text(program);
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
    return {.status = kUsage};
  }
  std::string message = unknown_word(given.front());
  for (const ForeignWord& foreign : program.foreign_commands)
    if (given.front() == foreign.word)
      return tell_what_is_here(program, message, foreign);
  std::vector<std::string> names = command_names(program);
  names.insert(names.end(), {"help", "--help", "--version", "--licenses"});
  return usage_error(program, "", message, closest(given.front(), names));
}

// The library's words are "--pid: 1 required  missing" and "json was given a disallowed flag
// override".
std::string wrong_value(std::string_view problem) {
  if (size_t colon = problem.find(": "); colon != problem.npos)
    return fmt::format("{} needs a value", problem.substr(0, colon));
  return fmt::format("--{} takes no value", problem.substr(0, problem.find(' ')));
}

std::string unexpected(const std::string& word) {
  return fmt::format("{} '{}'",
                     word.starts_with('-') ? "unknown option" : "unexpected argument",
                     printable(word));
}

// By "--pid", "--pid=1", "-p" or "-p1"; null: it is none.
const Option* find_option(const Command& command, std::string_view word) {
  std::string_view name =
      word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
  for (const OptionGroup& group : command.groups)
    for (const Option& option : group.options)
      if (auto names = split(option.names, ','); std::ranges::find(names, name) != names.end())
        return &option;
  return nullptr;
}

// The option whose value follows `word`, whatever that is; null: none does. Of "-gp" it is
// "-p".
const Option* option_before_value(const Command& command, std::string_view word) {
  const Option* option = find_option(command, word);
  if (!option || option->values == Values::kOptional)
    return nullptr;
  if (word.starts_with("--"))
    return is_flag(*option) || word.find('=') != word.npos ? nullptr : option;
  // A cluster of short names: a flag's letter is taken off and the rest looked at again.
  // Behind any other letter the rest is its value, "-p1", and nothing follows.
  if (word.size() == 2)
    return is_flag(*option) ? nullptr : option;
  return is_flag(*option) ? option_before_value(command, fmt::format("-{}", word.substr(2)))
                          : nullptr;
}

bool is_number_list(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789,") == word.npos;
}

// Index at which the words of a command of its own begin: behind "--", or at the first that is
// no option nor a value of one.
size_t find_words(const Command& command, const std::vector<std::string>& line) {
  // Word 0 is the command's name. A lone "-" is an argument: standard input.
  size_t at = 1;
  while (at < line.size() && line[at] != "--" && line[at].size() > 1 && line[at][0] == '-') {
    const Option* option = option_before_value(command, line[at++]);
    // In "-p 1 2 ls" the 2 is a value as well, and "ls" is none (Values::kWords).
    bool takes_numbers = option && option->values == Values::kWords && at < line.size() &&
                         is_number_list(line[at]);
    at += option ? 1 : 0;
    while (takes_numbers && at < line.size() && is_number_list(line[at]))
      at++;
  }
  return std::min(at, line.size());
}

// Cuts "-- COMMAND ARGUMENTS" off a line of a command that takes one. The library would take
// such words apart: "[a,b]" for a list.
std::vector<std::string> take_words(const Program& program, std::vector<std::string>& line) {
  auto command =
      std::ranges::find(program.commands, line.empty() ? "" : line.front(), &Command::name);
  if (command == program.commands.end() || !command->words)
    return {};
  auto begin = line.begin() + static_cast<ptrdiff_t>(find_words(*command, line));
  bool has_dashes = begin != line.end() && *begin == "--";
  std::vector<std::string> words(begin + (has_dashes ? 1 : 0), line.end());
  line.erase(begin, line.end());
  return words;
}

// "help record" is "record --help".
void rewrite_help(std::vector<std::string>& line, const std::vector<std::string>& commands) {
  if (line.empty() || line.front() != "help")
    return;
  line.erase(line.begin());
  if (line.empty())
    line.emplace_back("--help");
  else if (std::ranges::find(commands, line.front()) != commands.end())
    line = {line.front(), "--help"};
}

void rewrite(const Program& program, std::vector<std::string>& line) {
  auto command =
      std::ranges::find(program.commands, line.empty() ? "" : line.front(), &Command::name);
  if (command != program.commands.end() && command->rewrite)
    command->rewrite(line);
}

// The answer to the first word of another program; none if there is none.
std::optional<CommandLine> answer_foreign_word(const Program& program,
                                               const std::vector<std::string>& line) {
  auto command =
      std::ranges::find(program.commands, line.empty() ? "" : line.front(), &Command::name);
  if (command == program.commands.end())
    return std::nullopt;
  // Values of options are compared as well, because some words of perf are values: "cycles:u"
  // behind -e.
  for (const std::string& word : line)
    for (const ForeignWord& foreign : command->foreign_words)
      if (word == foreign.word || word.starts_with(foreign.word + "="))
        return tell_what_is_here(program, unexpected(word), foreign);
  return std::nullopt;
}

// The library compares each option with all before it: half of the time that an address takes
// to be looked up goes by with those of commands that no word on the line names.
void add_command(CLI::App& root, const Command& command, bool is_named) {
  CLI::App* app = root.add_subcommand(command.name);
  app->set_help_flag("-h,--help");
  // The name alone is there, so that it is not an unknown word.
  if (!is_named)
    return;
  for (const OptionGroup& group : command.groups)
    for (const Option& option : group.options)
      add_option(*app, option);
}

// Thrown as the library's own are for --help and --version.
struct CallForLicenses {};

}  // namespace

CommandLine parse_command_line(const Program& program, int argc, char** argv) {
  std::vector<std::string> line(argv + 1, argv + argc);
  rewrite_help(line, command_names(program));
  // The words of a command of its own are taken off first: the library would take its options
  // for ours.
  std::vector<std::string> words = take_words(program, line);
  rewrite(program, line);
  // Words of perf and pprof are answered before the library calls them unknown.
  if (auto answer = answer_foreign_word(program, line))
    return *answer;
  CLI::App root("", program.name);
  root.set_help_flag("-h,--help");
  root.set_version_flag("--version");
  root.add_flag_callback("--licenses", [] { throw CallForLicenses(); });
  root.require_subcommand(1);
  for (const Command& command : program.commands)
    add_command(root, command, std::ranges::find(line, command.name) != line.end());

  // The command that was named, if one was.
  auto chosen = [&]() -> std::pair<const Command*, const CLI::App*> {
    for (const Command& command : program.commands)
      if (const CLI::App* app = root.get_subcommand(command.name); app->parsed())
        return {&command, app};
    return {};
  };
  std::string message;
  std::string guess;  // what may have been meant
  try {
    std::ranges::reverse(line);  // as the library wants it
    root.parse(std::move(line));
  } catch (const CLI::CallForHelp&) {
    auto [command, app] = chosen();
    std::string text = command ? help_text(program, *command) : help_text(program);
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  } catch (const CLI::CallForVersion&) {
    std::string text = fmt::format("{} {}\n", program.name, program.version);
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  } catch (const CallForLicenses&) {
    std::string text = program.licenses();
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  } catch (const CLI::ExtrasError&) {
    auto [command, app] = chosen();
    // Words before the name of the command are not its own.
    std::vector<std::string> rest = app ? app->remaining() : std::vector<std::string>();
    if (rest.empty())
      return unknown_command(program, root.remaining());
    std::string word = rest.front();
    message = unexpected(word);
    guess = closest_option(word, *command);
  } catch (const CLI::ArgumentMismatch& problem) {
    message = wrong_value(problem.what());
  } catch (const CLI::ParseError& problem) {
    message = problem.what();
  }

  auto [command, app] = chosen();
  if (!command)
    return unknown_command(program, root.remaining());
  if (message.empty())
    message = find_conflict(*app, *command);
  if (!message.empty())
    return usage_error(program, command->name, message, guess);
  if (command->words)
    *command->words = std::move(words);
  return {.command = command};
}

Take into(std::string& text) {
  return [&text](const std::string& value) {
    text = value;
    return std::string();
  };
}

Take into(std::optional<std::string>& text) {
  return [&text](const std::string& value) {
    text = value;
    return std::string();
  };
}

Take into(bool& flag) {
  return sets(flag, true);
}

Take into(std::vector<std::string>& texts) {
  return [&texts](const std::string& value) {
    texts.push_back(value);
    return std::string();
  };
}

std::string not_one_of(const std::string& text, const std::vector<std::string>& choices) {
  return fmt::format("'{}' is not one of {}", printable(text), joined(choices, ", "));
}

Take one_of(std::string& word, const std::vector<std::string>& choices) {
  auto parse = [&word, choices](const std::string& text) {
    if (std::ranges::find(choices, text) == choices.end())
      return not_one_of(text, choices);
    word = text;
    return std::string();
  };
  return {parse, choices};
}

}  // namespace gosym
