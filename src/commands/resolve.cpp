#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/name_option.h"
#include "output/json.h"
#include "symbolize/image_symbols.h"
#include "symbolize/wrappers.h"

namespace gosym {

namespace {

struct Options {
  std::string binary;
  std::vector<std::string> addresses;
  bool is_json = false;
  bool no_inlines = false;
  bool keeps_wrappers = false;
  DebugOptions debug;
  std::optional<NameForm> name_form;  // none: short in text, as the linker has them in JSON
};

struct Answer {
  ImageAddress address{};
  std::vector<Call> calls;  // innermost first; empty: then `reason` says why
  FrameSource source{};
  std::string_view reason;
};

Answer answer(const ImageSymbols& symbols, const Options& options, ImageAddress address) {
  Answer answer{.address = address, .calls = {}, .source = {}, .reason = {}};
  if (auto source = symbols.find(address, answer.calls)) {
    answer.source = *source;
    // The outermost call is the function that holds the code.
    if (options.no_inlines)
      answer.calls.erase(answer.calls.begin(), std::prev(answer.calls.end()));
    if (!options.keeps_wrappers)
      hide_wrappers(answer.calls);
  } else if (!symbols.image().is_executable_at(address)) {
    answer.reason = "not in a code segment";
  } else {
    answer.reason = symbols.has_code_names() ? "no symbol there" : "no symbols in this file";
  }
  return answer;
}

std::string position(const Call& call) {
  if (call.file.empty())
    return {};
  std::string file = printable(call.file);
  return call.line == 0 ? " " + file : fmt::format(" {}:{}", file, call.line);
}

void print_text(const Answer& answer, NameForm form) {
  print(stdout, "{:#x}", to_integer(answer.address));
  if (answer.calls.empty())
    print(stdout, " ?? ({})\n", answer.reason);
  for (size_t i = 0; i < answer.calls.size(); i++)
    print(stdout, "{}{}{}\n", i == 0 ? " " : "  (inlined by) ",
          printable(display_name(answer.calls[i].function, answer.source, form)),
          position(answer.calls[i]));
}

void print_json(const Answer& answer, NameForm form) {
  JsonWriter json;
  json.begin_object();
  json.field("address", fmt::format("{:#x}", to_integer(answer.address)));
  json.key("frames");
  json.begin_array();
  for (const Call& call : answer.calls) {
    json.begin_object();
    json.field("function", display_name(call.function, answer.source, form));
    if (!call.file.empty())
      json.field("file", call.file);
    if (call.line != 0)
      json.field("line", call.line);
    json.field("inlined", call.is_inlined);
    json.field("source", to_string(answer.source));
    json.end_object();
  }
  json.end_array();
  if (answer.calls.empty())
    json.field("reason", answer.reason);
  json.end_object();
  print(stdout, "{}\n", json.text());
}

void resolve(const ImageSymbols& symbols, const Options& options, uint64_t address) {
  Answer found = answer(symbols, options, ImageAddress{address});
  if (options.is_json)
    print_json(found, options.name_form.value_or(NameForm::kNone));
  else
    print_text(found, options.name_form.value_or(NameForm::kShort));
}

// A longer line is no address; the limit keeps memory small whatever comes in.
constexpr size_t kLongestLine = 4096;

// Answers each line as soon as it is there: what has been asked is answered before we wait for
// more, so that a program can hold a conversation.
Result<> resolve_input(const ImageSymbols& symbols, const Options& options) {
  std::string pending;
  char chunk[65536];
  uint64_t line_number = 0;
  bool is_end = false;
  while (!is_end) {
    std::fflush(stdout);
    ssize_t count = read(STDIN_FILENO, chunk, sizeof(chunk));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return system_error("cannot read standard input", errno);
    is_end = count == 0;
    pending.append(chunk, static_cast<size_t>(count));

    std::string_view rest = pending;
    while (rest.find('\n') != std::string_view::npos || (is_end && !rest.empty())) {
      std::string_view line = take_line(rest);
      line_number++;
      if (line.ends_with('\r'))
        line.remove_suffix(1);
      std::string_view word = take_word(line);
      auto address = parse_hex(word);
      if (word.empty())
        continue;
      if (!address || !take_word(line).empty())
        return errorf("standard input, line {}: '{}' is not a hexadecimal address", line_number,
                      printable(word));
      resolve(symbols, options, *address);
    }
    pending.erase(0, pending.size() - rest.size());
    if (pending.size() > kLongestLine)
      return errorf("standard input, line {}: longer than {} bytes", line_number + 1,
                    kLongestLine);
  }
  return Ok{};
}

Result<int> run(const Options& options) {
  std::vector<uint64_t> addresses;
  for (const std::string& text : options.addresses) {
    auto address = parse_hex(text);
    if (!address)
      return errorf("'{}' is not a hexadecimal address", printable(text))
          .with_exit_status(kUsage);
    addresses.push_back(*address);
  }

  auto files = find_debug_files(options.debug, stderr);
  if (!files)
    return std::move(files).error();
  auto symbols = ImageSymbols::open(options.binary, *files);
  if (!symbols)
    return std::move(symbols).error().context(fmt::format("'{}'", printable(options.binary)));
  for (const std::string& note : {(*symbols)->problem(), (*symbols)->assumption()})
    if (!note.empty())
      print(stderr, "gosym: warning: '{}': {}\n", printable(options.binary), printable(note));

  for (uint64_t address : addresses)
    resolve(**symbols, options, address);
  if (addresses.empty())
    if (auto read = resolve_input(**symbols, options); !read)
      return std::move(read).error();
  return kSuccess;
}

}  // namespace

Command make_resolve(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "resolve", "Name the code at addresses of a binary, inlined calls included");
  app->add_option("BINARY", options->binary, "ELF file to look in; it may be stripped")
      ->required()
      ->type_name("");
  app->add_option("ADDR", options->addresses,
                  "Addresses as linked, in hexadecimal; without any, one a line from standard "
                  "input")
      ->type_name("");
  app->add_flag("--json", options->is_json, "Print one JSON object a line");
  app->add_flag("--no-inlines", options->no_inlines,
                "Print only the function that holds the code");
  add_name_option(*app, options->name_form);
  add_debug_options(*app, options->debug);
  app->add_flag("--wrappers", options->keeps_wrappers,
                "Keep wrappers, which Go's runtime leaves out of its stacks");
  app->footer(
      "Examples:\n"
      "  gosym resolve ./server 4a1b20\n"
      "  gosym resolve --json ./server 0x4a1b20 0x4a1b24\n"
      "  grep -o '0x[0-9a-f]*' crash.log | gosym resolve ./server\n");
  return {app, [options] { return run(*options); }};
}

}  // namespace gosym
