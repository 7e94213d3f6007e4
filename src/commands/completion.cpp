#include "commands/completion.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "base/exit_status.h"
#include "base/text.h"

namespace gosym {

namespace {

// ---- what is offered --------------------------------------------------------------------

// The list that a shell offers for a value which help calls so.
Listed listed_by_word(std::string_view word) {
  constexpr std::pair<std::string_view, Listed> kWords[] = {
      {"FILE", Listed::kFiles},         {"BINARY", Listed::kFiles},
      {"PROGRAM", Listed::kFiles},      {"DIR", Listed::kFolders},
      {"PATH", Listed::kFolders},       {"PID", Listed::kProcesses},
      {"PID|NAME", Listed::kProcesses}, {"PID|NAME|CORE", Listed::kProcessesAndFiles},
      {"USER", Listed::kUsers},
  };
  for (const auto& [known, listed] : kWords)
    if (word == known)
      return listed;
  return Listed::kNothing;
}

// The word that help has for the value, "PID"; of an argument, its name.
std::string value_word(const Option& option) {
  return option.value.empty() ? argument_name(option) : option.value;
}

Listed listed_of(const Option& option) {
  return option.listed == Listed::kByWord ? listed_by_word(value_word(option)) : option.listed;
}

// Words that are offered for the value, before any list.
const std::vector<std::string>& words_for(const Option& option) {
  return option.take.choices.empty() ? option.likely : option.take.choices;
}

bool is_repeatable(const Option& option) {
  return option.values != Values::kOne && option.values != Values::kOptional;
}

// "-p" and "--pid"; none: it is an argument.
std::vector<std::string> option_names(const Option& option) {
  std::vector<std::string> names;
  for (std::string_view name : split(option.names, ','))
    if (name.starts_with('-'))
      names.emplace_back(name);
  return names;
}

// The options of a command in their order, with --help, which all have.
std::vector<Option> options_of(const Command& command) {
  std::vector<Option> options = {help_option()};
  for (const OptionGroup& group : command.groups)
    options.insert(options.end(), group.options.begin(), group.options.end());
  return options;
}

std::vector<std::string> all_names(const std::vector<Option>& options) {
  std::vector<std::string> all;
  for (const Option& option : options)
    for (std::string& name : option_names(option))
      all.push_back(std::move(name));
  return all;
}

std::vector<Option> arguments_of(const std::vector<Option>& options) {
  std::vector<Option> arguments;
  std::ranges::copy_if(options, std::back_inserter(arguments),
                       [](const Option& option) { return !argument_name(option).empty(); });
  return arguments;
}

std::string commands_of(const Program& program) {
  std::vector<std::string> names;
  for (const Command& command : program.commands)
    names.push_back(command.name);
  return joined(names, " ");
}

// The text with a backslash before each of these characters.
std::string with_backslashes(std::string_view text, std::string_view characters) {
  std::string result;
  for (char c : text) {
    if (characters.find(c) != characters.npos)
      result += '\\';
    result += c;
  }
  return result;
}

constexpr std::string_view kSpecial = " \t\"'`$&;|<>()[]{}*?!#~\\";  // to shells

// ---- bash -------------------------------------------------------------------------------

constexpr std::string_view kBashFunctions = R"(# bash completion for gosym

# Offers those of the words, of which none needs quoting, that begin with what is typed. In a list, `a,b`,
# that is what follows the last comma.
_gosym_words() {
  local before= word
  case $current in *,*) before=${current%,*}, ;; esac
  for word in $1; do
    if [[ $before$word == "$current"* ]]; then COMPREPLY+=("$before$word"); fi
  done
}

# Offers names that anybody may have chosen, e.g. `$(reboot)`: they are given to nothing that expands text,
# as compgen -W does, and what is offered stands for the name alone, for it becomes part of a command.
# Those that have to be written as $'...' are left out, and between quotes all that need any: readline puts
# what is offered behind the opening quote.
_gosym_names() {
  local name quoted
  for name; do
    printf -v quoted %q "$name"
    case $current in
      [\"\']*) if [[ $quoted == "$name" && $name == "${current:1}"* ]]; then COMPREPLY+=("$name"); fi ;;
      *) if [[ $quoted != \$* && $quoted == "$current"* ]]; then COMPREPLY+=("$quoted"); fi ;;
    esac
  done
}

_gosym_pids() {
  local processes=(/proc/[0-9]*)
  _gosym_words "${processes[*]#/proc/}"
}

_gosym_programs() {
  local file name names=()
  for file in /proc/[0-9]*/comm; do
    name=
    IFS= read -r -d '' name < "$file"
    if [[ $name ]]; then names+=("${name%$'\n'}"); fi
  done 2> /dev/null
  _gosym_names "${names[@]}"
}

_gosym_users() {
  local names
  mapfile -t names < <(compgen -u)
  _gosym_names "${names[@]}"
}

# Leaves it to readline, which quotes file names.
_gosym_folders() { compopt -o dirnames 2> /dev/null; }
_gosym_files() { compopt -o default 2> /dev/null; }
_gosym_pids_and_files() {
  _gosym_pids
  _gosym_files
}

)";

constexpr std::string_view kBashBegin = R"(_gosym() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local options word IFS=$' \t\n'
  COMPREPLY=()

  if [ "$COMP_CWORD" -eq 1 ]; then
    _gosym_words "{}"
    return
  fi
  # Behind -- there are no options.
  for word in "${{COMP_WORDS[@]:2:COMP_CWORD-2}}"; do
    if [[ $word == -- ]]; then
      _gosym_files
      return
    fi
  done

  case ${{COMP_WORDS[1]}} in
)";

constexpr std::string_view kBashEnd = R"(    help)
      _gosym_words "{}"
      return
      ;;
    *) return ;;
  esac
  _gosym_words "$options"
}}

complete -F _gosym gosym
)";

// The call that offers values; ":" offers none.
std::string bash_action(const Option& option) {
  std::vector<std::string> plain;
  // bash takes a word as it is offered.
  for (const std::string& word : words_for(option))
    if (word.find_first_of(kSpecial) == word.npos)
      plain.push_back(word);
  if (!plain.empty())
    return fmt::format("_gosym_words \"{}\"", joined(plain, " "));
  switch (listed_of(option)) {
    case Listed::kFiles:
      return "_gosym_files";
    case Listed::kFolders:
      return "_gosym_folders";
    case Listed::kProcesses:
      return "_gosym_pids";
    case Listed::kProcessesAndFiles:
      return "_gosym_pids_and_files";
    case Listed::kPrograms:
      return "_gosym_programs";
    case Listed::kUsers:
      return "_gosym_users";
    default:
      return ":";
  }
}

// Lines of `case $previous`, one for all options whose values are offered alike.
std::string bash_values(const std::vector<Option>& options) {
  std::vector<std::pair<std::string, std::vector<std::string>>> actions;
  for (const Option& option : options) {
    // The next word is no value of these.
    if (is_flag(option) || option.values == Values::kOptional)
      continue;
    std::string action = bash_action(option);
    auto found = std::ranges::find(actions, action, [](const auto& one) { return one.first; });
    if (found == actions.end())
      found = actions.insert(actions.end(), {action, {}});
    std::ranges::copy(option_names(option), std::back_inserter(found->second));
  }
  std::string lines;
  for (const auto& [action, names] : actions)
    if (!names.empty())
      lines += fmt::format("        {})\n          {}\n          return\n          ;;\n",
                           joined(names, " | "), action);
  return lines;
}

// The branch of a command in the `case` at the end of kBashBegin.
std::string bash_command(const Command& command) {
  std::vector<Option> options = options_of(command);
  std::string text = fmt::format("    {})\n      options=\"{}\"\n", command.name,
                                 joined(all_names(options), " "));
  if (std::string values = bash_values(options); !values.empty())
    text += fmt::format("      case $previous in\n{}      esac\n", values);
  // The first argument stands for all: bash does not count them. A command without any is
  // offered files: a program of its own may follow, as after record.
  std::vector<Option> arguments = arguments_of(options);
  std::string action = !arguments.empty() ? bash_action(arguments.front()) : "_gosym_files";
  return text + fmt::format(
                    "      if [[ $current != -* ]]; then\n        {}\n        return\n      "
                    "fi\n      ;;\n",
                    action);
}

}  // namespace

std::string bash_completion(const Program& program) {
  std::string commands = commands_of(program);
  std::string text(kBashFunctions);
  text += fmt::format(
      fmt::runtime(kBashBegin),
      fmt::format("{} help {}", commands, joined(all_names(program_options()), " ")));
  for (const Command& command : program.commands)
    text += bash_command(command);
  return text + fmt::format(fmt::runtime(kBashEnd), commands);
}

namespace {

// ---- zsh --------------------------------------------------------------------------------

constexpr std::string_view kZshBegin = R"(#compdef gosym
# zsh completion for gosym

_gosym_pids_and_files() {
  _alternative "pids:process:_pids" "files:file:_files"
}

_gosym() {
)";

constexpr std::string_view kZshCommands = R"(    _describe command commands
    return
  fi

  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
)";

std::string single_quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// The action by which _arguments completes a value. zsh has no list for kPrograms. Empty: it
// offers nothing.
std::string zsh_action(const Option& option) {
  const std::vector<std::string>& words = words_for(option);
  std::vector<std::string> quoted;
  for (const std::string& word : words)
    quoted.push_back(with_backslashes(word, fmt::format("{}:", kSpecial)));
  if (option.values == Values::kCommaList && !words.empty())
    return fmt::format("_values -s , value {}", joined(quoted, " "));
  if (!words.empty())
    return fmt::format("({})", joined(quoted, " "));
  switch (listed_of(option)) {
    case Listed::kFiles:
      return "_files";
    case Listed::kFolders:
      return "_files -/";
    case Listed::kProcesses:
      return "_pids";
    case Listed::kProcessesAndFiles:
      return "_gosym_pids_and_files";
    case Listed::kUsers:
      return "_users";
    default:
      return "";
  }
}

// Names of options that are not offered beside this one: each other name of its own, and those
// that exclude it or that it excludes.
std::vector<std::string> excluded(const Option& option, const std::vector<Option>& options) {
  auto is_named = [](const Option& one, const std::vector<std::string>& names) {
    return std::ranges::any_of(option_names(one), [&](const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    });
  };
  std::vector<std::string> names;
  for (const Option& other : options) {
    bool is_own = other.names == option.names;
    if (is_own ? !is_repeatable(option)
               : is_named(other, option.excludes) || is_named(option, other.excludes))
      std::ranges::copy(option_names(other), std::back_inserter(names));
  }
  return names;
}

// "'(-p --pid)--pid[Record these]:PID:_pids'", for each name one.
std::string zsh_option(const Option& option, const std::vector<Option>& options) {
  std::string value;
  if (!is_flag(option))
    value = fmt::format("{}{}:{}", option.values == Values::kOptional ? "::" : ":",
                        with_backslashes(value_word(option), ":"), zsh_action(option));
  std::vector<std::string> names = option_names(option);
  std::vector<std::string> others = excluded(option, options);
  // Alone on its list, it is left away: an option that was given is not offered again.
  std::string lead = others.size() < 2 ? "" : fmt::format("({})", joined(others, " "));
  lead += is_repeatable(option) ? "*" : "";
  std::string specs;
  // "=-": the value stands behind "=" in the same word, or there is none.
  for (const std::string& name : names)
    specs +=
        fmt::format(" \\\n        {}",
                    single_quoted(fmt::format("{}{}{}[{}]{}", lead, name,
                                              option.values == Values::kOptional ? "=-" : "",
                                              with_backslashes(option.help, "]\\"), value)));
  return specs;
}

// "':FILE:_files'": what the argument is called, and how it is completed, as _arguments has it.
// A "*" in front lets it stand for all that follow.
std::string zsh_argument(const Option& argument) {
  return fmt::format(" \\\n        {}",
                     single_quoted(fmt::format("{}:{}:{}", is_repeatable(argument) ? "*" : "",
                                               with_backslashes(argument_name(argument), ":"),
                                               zsh_action(argument))));
}

// The branch of a command in the `case` at the end of kZshCommands.
std::string zsh_command(const Command& command) {
  std::vector<Option> options = options_of(command);
  // No option is completed behind "--", where a command of its own may stand.
  std::string text =
      fmt::format("    {})\n      _arguments{}", command.name, command.words ? " -S" : "");
  for (const Option& option : options)
    text += zsh_option(option, options);
  for (const Option& argument : arguments_of(options))
    text += zsh_argument(argument);
  if (command.words)
    text += " \\\n        '*::command:_normal'";
  return text + "\n      ;;\n";
}

}  // namespace

std::string zsh_completion(const Program& program) {
  std::string text(kZshBegin);
  text += "  if (( CURRENT == 2 )); then\n    local -a commands=(\n";
  for (const Command& command : program.commands)
    // _describe splits each at its first colon, into a word and what is said of it.
    text += fmt::format("      {}\n",
                        single_quoted(fmt::format("{}:{}", command.name, command.summary)));
  text += "      'help:Show help of a command'\n    )\n    _arguments";
  std::vector<Option> options = program_options();
  for (const Option& option : options)
    text += zsh_option(option, options);
  text += fmt::format("\n{}", kZshCommands);
  for (const Command& command : program.commands)
    text += zsh_command(command);
  return text + fmt::format(
                    "    help) _arguments ':command:({})' ;;\n  esac\n}}\n\n"
                    "compdef _gosym gosym 2> /dev/null\n",
                    commands_of(program));
}

namespace {

// ---- fish -------------------------------------------------------------------------------

constexpr std::string_view kFishFunctions = R"(# fish completion for gosym

function __gosym_has_no_command
    test (count (commandline -opc)) -lt 2
end

function __gosym_has_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = $argv[1]
end

)";

std::string fish_quoted(std::string_view text) {
  return fmt::format("'{}'", with_backslashes(text, "'\\"));
}

// The list that a value is completed from; empty: there is none.
std::string fish_list(const Option& option) {
  std::vector<std::string> quoted;
  for (const std::string& word : words_for(option))
    quoted.push_back(with_backslashes(word, kSpecial));
  if (!quoted.empty())
    return joined(quoted, " ");
  switch (listed_of(option)) {
    case Listed::kFolders:
      return "(__fish_complete_directories)";
    case Listed::kProcesses:
    case Listed::kProcessesAndFiles:
      return "(__fish_complete_pids)";
    case Listed::kUsers:
      return "(__fish_complete_users)";
    default:
      return "";
  }
}

bool offers_files(const Option& option) {
  Listed listed = listed_of(option);
  return listed == Listed::kFiles || listed == Listed::kProcessesAndFiles;
}

// The value of an option: -x takes no files, -r -F does.
std::string fish_value(const Option& option) {
  if (is_flag(option) || option.values == Values::kOptional)
    return "";
  std::string list = fish_list(option);
  return (offers_files(option) ? " -r -F" : " -x") +
         (list.empty() ? "" : " -a " + fish_quoted(list));
}

// A line of fish's complete(1), whose condition `lead` has: -s and -l are its names, -d says
// what it is for.
std::string fish_option(const std::string& lead, const Option& option) {
  std::string names;
  for (const std::string& name : option_names(option))
    names += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                    : fmt::format(" -s {}", name.substr(1));
  if (names.empty())
    return "";
  return fmt::format("{}{}{} -d {}\n", lead, names, fish_value(option),
                     fish_quoted(option.help));
}

// Arguments are completed alike, by the lists of all of them; files are offered unless none of
// them is one.
std::string fish_arguments(const std::string& lead, const Command& command) {
  std::vector<Option> arguments = arguments_of(options_of(command));
  std::string lines;
  for (const Option& argument : arguments)
    if (std::string list = fish_list(argument); !list.empty())
      lines += fmt::format("{} -a {}\n", lead, fish_quoted(list));
  bool has_files = command.words || std::ranges::any_of(arguments, offers_files);
  return has_files ? lines : fmt::format("{} -f\n{}", lead, lines);
}

}  // namespace

// Lines of complete(1): -n has a function that says when the line counts, -a what is offered,
// and -f offers no files.
std::string fish_completion(const Program& program) {
  std::string text(kFishFunctions);
  std::string first = "complete -c gosym -n __gosym_has_no_command";
  text += first + " -f\n";
  for (const Option& option : program_options())
    text += fish_option(first, option);
  for (const Command& command : program.commands)
    text += fmt::format("{} -a {} -d {}\n", first, command.name, fish_quoted(command.summary));
  text += fmt::format("{} -a help -d 'Show help of a command'\n", first);
  text += fmt::format("complete -c gosym -n '__gosym_has_command help' -f -a '{}'\n",
                      commands_of(program));
  for (const Command& command : program.commands) {
    std::string lead =
        fmt::format("complete -c gosym -n '__gosym_has_command {}'", command.name);
    text += '\n' + fish_arguments(lead, command);
    for (const Option& option : options_of(command))
      text += fish_option(lead, option);
  }
  return text;
}

// Borrows the program, to which it is added itself (main()): the scripts are made when it runs,
// and so have all commands.
Command make_completion(const Program& program) {
  using WriteScript = std::string (*)(const Program&);
  auto write = std::make_shared<WriteScript>();
  return {.name = "completion",
          .summary = "Write what a shell completes command lines by",
          .groups = {{"Options",
                      {{.names = "SHELL",
                        .help = "bash, zsh or fish",
                        .take = one_of(*write, {{"bash", bash_completion},
                                                {"zsh", zsh_completion},
                                                {"fish", fish_completion}}),
                        .is_required = true}}}},
          .examples =
              "  gosym completion fish | source       in ~/.config/fish/config.fish\n"
              "  source <(gosym completion bash)      in ~/.bashrc\n"
              "  source <(gosym completion zsh)       in ~/.zshrc, after compinit\n",
          .run = [write, &program] {
            std::string text = (*write)(program);
            (void)std::fwrite(text.data(), 1, text.size(), stdout);
            return Result<int>(kSuccess);
          }};
}

}  // namespace gosym
