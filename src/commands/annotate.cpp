#include <algorithm>
#include <memory>

#include "base/exit_status.h"
#include "base/pattern.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/annotated_code.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/name_option.h"
#include "commands/terminal.h"

namespace gosym {

namespace {

struct AnnotateOptions {
  std::string input;
  std::string function;
  std::string source_directory;
  std::optional<NameForm> name_form;
  std::string syntax = "att";
  std::string colour = "auto";
  bool has_pager = true;
  DebugOptions debug;
};

using Functions = std::vector<FunctionRange>;

bool is_named(const ImageSymbols& symbols, const FunctionRange& function,
              const std::string& wanted) {
  std::vector<Call> calls;
  auto source = symbols.find(function.address, calls);
  return source && (display_name(function.name, *source, NameForm::kShort) == wanted ||
                    display_name(function.name, *source, NameForm::kFull) == wanted);
}

bool matches(const ImageSymbols& symbols, const FunctionRange& function,
             const Pattern& pattern) {
  std::vector<Call> calls;
  auto source = symbols.find(function.address, calls);
  return source && pattern.matches(display_name(function.name, *source, NameForm::kShort));
}

// Those of the name; else the one at the address; else those that the expression matches.
Result<Functions> find_functions(const ImageSymbols& symbols, const Functions& all,
                                 const std::string& wanted) {
  Functions found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const FunctionRange& function) {
    return function.name == wanted || is_named(symbols, function, wanted);
  });
  if (!found.empty())
    return found;
  if (auto address = parse_hex(wanted))
    std::ranges::copy_if(all, std::back_inserter(found), [&](const FunctionRange& function) {
      return *address - to_integer(function.address) < function.size;
    });
  if (!found.empty())
    return found;
  auto pattern = Pattern::parse(wanted);
  if (!pattern)
    return std::move(pattern).error().with_exit_status(kUsage);
  std::ranges::copy_if(all, std::back_inserter(found), [&](const FunctionRange& function) {
    return matches(symbols, function, *pattern);
  });
  return found;
}

ColourMode colour_mode(const std::string& word) {
  return word == "always"  ? ColourMode::kAlways
         : word == "never" ? ColourMode::kNever
                           : ColourMode::kAuto;
}

// More is not kept for a pager: it is written as it comes.
constexpr uint64_t kMostPaged = 4 << 20;

void write(const Functions& functions, const AnnotateView& view,
           code::Disassembler& disassembler, bool has_pager) {
  uint64_t size = 0;
  for (const FunctionRange& function : functions)
    size += std::min(function.size, kMostPaged);
  bool is_paged = has_pager && view.screen.has_width() && size <= kMostPaged;
  std::string text;
  for (const FunctionRange& function : functions) {
    text += &function == functions.data() ? "" : "\n";
    text += text_of(annotate(*view.symbols, function, disassembler), view);
    if (!is_paged) {
      (void)std::fwrite(text.data(), 1, text.size(), stdout);
      text.clear();
    }
    if (std::ferror(stdout))
      return;
  }
  if (is_paged && !show_in_pager(text, view.screen))
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
}

void tell_changed(const SourceFiles& sources, int64_t built) {
  std::fflush(stdout);
  for (const std::string& path : sources.changed_after(built))
    print(stderr,
          "gosym: warning: '{}' was changed after the program was built: lines may be wrong\n",
          path);
}

Result<int> annotate_binary(const AnnotateOptions& options, const DebugFileOptions& files) {
  auto file = MappedFile::open(options.input, options.debug.symfs);
  if (!file)
    return std::move(file).error();
  int64_t built = (*file)->mtime_ns();
  auto symbols = ImageSymbols::open(*std::move(file), options.input, files);
  if (!symbols)
    return std::move(symbols).error();
  for (const std::string& note : {(*symbols)->problem(), (*symbols)->assumption()})
    if (!note.empty())
      print(stderr, "gosym: warning: '{}': {}\n", options.input, note);
  Functions all = (*symbols)->functions();
  auto found = find_functions(**symbols, all, options.function);
  if (!found)
    return std::move(found).error();
  if (found->empty())
    return errorf("no function matches '{}'", printable(options.function))
        .with_hint(all.empty() ? "it has no symbols: gosym inspect tells what there is"
                               : "gosym inspect --functions lists those of Go")
        .with_exit_status(kNoTarget);
  auto syntax = options.syntax == "intel" ? code::Syntax::kIntel : code::Syntax::kAtt;
  auto disassembler = code::Disassembler::open((*symbols)->image().machine, syntax);
  if (!disassembler)
    return std::move(disassembler).error();
  SourceFiles sources(source_places(options.source_directory, options.debug.symfs));
  AnnotateView view{.name_form = options.name_form.value_or(NameForm::kShort),
                    .screen = standard_output(colour_mode(options.colour)),
                    .sources = &sources,
                    .symbols = symbols->get(),
                    .functions = all};
  write(*found, view, *disassembler, options.has_pager);
  tell_changed(sources, built);
  return kSuccess;
}

Result<int> run_annotate(const AnnotateOptions& options) {
  auto files = find_debug_files(options.debug, stderr);
  if (!files)
    return std::move(files).error();
  auto status = annotate_binary(options, *files);
  if (!status)
    return std::move(status).error().context(fmt::format("'{}'", printable(options.input)));
  return status;
}

}  // namespace

Command make_annotate() {
  auto options = std::make_shared<AnnotateOptions>();
  std::vector<Option> common = {
      {.names = "BINARY",
       .help = "ELF file to look in; it may be stripped",
       .set = into(options->input),
       .is_required = true},
      {.names = "FUNC",
       .help = "Name of a function, address of one, or a regular expression for several",
       .set = into(options->function),
       .is_required = true},
      {.names = "--source",
       .value = "DIR",
       .help = "Look for source files below DIR first, by the ends of their paths",
       .set = into(options->source_directory)},
      {.names = "--syntax",
       .value = "NAME",
       .help = "How code of x86-64 is written: att or intel (default: att)",
       .set = into(options->syntax),
       .choices = {"att", "intel"}},
      name_option(options->name_form),
      {.names = "--color",
       .value = "WHEN",
       .help = "Use colours: auto, always or never (default: auto; see NO_COLOR)",
       .set = into(options->colour),
       .choices = {"auto", "always", "never"}},
      {.names = "--no-pager",
       .help = "Do not page what is longer than the terminal",
       .set = [options](const std::string& /*none*/) { options->has_pager = false; }}};
  return {.name = "annotate",
          .summary = "Show a function's instructions and source lines",
          .groups = {{"Options", std::move(common)}, debug_options(options->debug)},
          .examples =
              "  gosym annotate ./server main.main\n"
              "  gosym annotate ./server 'encoding/json.*Encode'\n"
              "  gosym annotate --source ~/src/server ./server main.handle\n",
          .run = [options] { return run_annotate(*options); }};
}

}  // namespace gosym
