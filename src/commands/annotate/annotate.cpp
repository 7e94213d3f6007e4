#include <algorithm>
#include <functional>
#include <memory>

#include "base/exit_status.h"
#include "base/pattern.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/annotate/annotated_code.h"
#include "commands/annotate/source_files.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/foreign_words.h"
#include "commands/load_profile.h"
#include "commands/option_values.h"
#include "commands/recordings.h"
#include "commands/report.h"
#include "commands/terminal.h"
#include "confine/parser.h"
#include "record/event_type.h"
#include "symbolize/find_functions.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// Two ways lead to write_image(): annotate_binary() shows functions of an ELF file without
// samples, annotate_recording() those of each image of a profile with theirs. run_annotate()
// tells by the words and the file which of them is meant.

namespace {

struct AnnotateOptions {
  std::string input;
  std::string function;
  std::string event;  // empty: the first
  std::string source_directory;
  std::optional<NameForm> name_form;
  code::Syntax syntax = code::Syntax::kAtt;
  ColourMode colour = ColourMode::kAuto;
  bool has_pager = true;
  DebugOptions debug;
};

// More is not kept for a pager: it is written as it comes.
constexpr uint64_t kMostPaged = 4 << 20;

// Gives the code of functions, with samples if there are any.
using AnnotateFunctions =
    std::function<std::vector<AnnotatedFunction>(std::span<const FunctionRange> ranges)>;

void write_functions(const Functions& functions, const AnnotateFunctions& annotate_functions,
                     const AnnotateView& view, bool has_pager) {
  // A pager needs the whole text before it begins, so the size of the code decides; the text
  // is some times as large. Each function counts up to the limit, so that the sum cannot
  // overflow.
  uint64_t size = 0;
  for (const FunctionRange& function : functions)
    size += std::min(function.size, kMostPaged);
  bool is_paged = has_pager && view.screen.has_width() && size <= kMostPaged;
  // So many at once: the code of all functions of a program takes much memory.
  constexpr size_t kAtOnce = 64;
  std::string text;
  bool is_first = true;
  // Nobody reads on after `head`: the rest is not worked out when stdout has failed.
  for (size_t i = 0; i < functions.size() && !std::ferror(stdout); i += kAtOnce) {
    auto next = std::span(functions).subspan(i, std::min(kAtOnce, functions.size() - i));
    for (const AnnotatedFunction& function : annotate_functions(next)) {
      text += std::exchange(is_first, false) ? "" : "\n";
      text += on_screen(text_of(function, view), view.screen);
      // Written at once, function by function, if there is no pager.
      if (is_paged)
        continue;
      (void)std::fwrite(text.data(), 1, text.size(), stdout);
      text.clear();
    }
  }
  // A text that fits the screen, or a pager that does not start, leaves the text to be written
  // here.
  if (is_paged && !show_in_pager(text, view.screen))
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
}

void tell_problems(const SourceFiles& sources, int64_t built) {
  // Warnings come behind the text that they are about, also where both go to one file.
  std::fflush(stdout);
  for (const std::string& problem : problems_of(sources, built))
    print_warning("{}", problem);
}

// An image and the functions of it that are shown.
struct ShownImage {
  const ImageSymbols& symbols;
  const Functions& all;
  const Functions& found;  // those that are to be shown
  const Profile* profile;  // null where there are no samples; then so are the next two
  const Amounts* amounts;
  uint32_t image;              // its index in the profile
  int64_t built;               // when the file was last written, ns since 1970
  std::optional<uid_t> owner;  // ImageSymbols::owner()
};

Result<int> write_image(const ShownImage& shown, const AnnotateOptions& options) {
  const ImageSymbols& symbols = shown.symbols;
  auto disassembler = code::Disassembler::open(symbols.image().machine, options.syntax);
  if (!disassembler)
    return std::move(disassembler).error();
  SourceFiles sources(source_places(options.source_directory, options.debug.symfs),
                      shown.owner);
  AnnotateView view{.name_form = options.name_form.value_or(NameForm::kShort),
                    .screen = standard_output(options.colour),
                    .amounts = shown.amounts,
                    .sources = &sources,
                    .symbols = &symbols,
                    .functions = shown.all};
  // With samples the functions are counted together, in one pass through the samples for all
  // that are asked for at once.
  auto annotate_functions = [&](std::span<const FunctionRange> ranges) {
    if (shown.profile)
      return annotate_sampled(symbols, ranges, *disassembler, *shown.profile,
                              shown.profile->samples, shown.image);
    std::vector<AnnotatedFunction> functions;
    for (const FunctionRange& range : ranges)
      functions.push_back(annotate(symbols, range, *disassembler));
    return functions;
  };
  write_functions(shown.found, annotate_functions, view, options.has_pager);
  tell_problems(sources, shown.built);
  return kSuccess;
}

Result<int> annotate_binary(const AnnotateOptions& options, const DebugFileOptions& files) {
  auto file = MappedFile::open(options.input, options.debug.symfs);
  if (!file)
    return std::move(file).error();
  int64_t built = (*file)->mtime_ns();
  auto symbols = ImageSymbols::open(*std::move(file), options.input, files);
  if (!symbols)
    return std::move(symbols).error();
  // A file without names, or whose table had to be guessed at, may still have the function.
  for (const std::string& note : {(*symbols)->problem(), (*symbols)->assumption()})
    if (!note.empty())
      print_warning("'{}': {}", printable(options.input), note);
  Functions all = all_functions(**symbols);
  auto found = find_functions(**symbols, all, options.function);
  if (!found)
    return std::move(found).error();
  if (found->functions.empty())
    return errorf("no function matches '{}'", printable(options.function))
        .with_hint(all.empty() ? "it has no symbols: gosym inspect tells what there is"
                               : "gosym inspect --functions lists all; one that is inlined "
                                 "wherever it is called has no code of its own")
        .with_exit_status(kNoTarget);
  return write_image({.symbols = **symbols,
                      .all = all,
                      .found = found->functions,
                      .profile = nullptr,
                      .amounts = nullptr,
                      .image = 0,
                      .built = built,
                      .owner = (*symbols)->owner()},
                     options);
}

uint64_t largest(const SampledImages& images) {
  uint64_t result = 0;
  for (const auto& [index, code] : images)
    for (const auto& [address, self] : code.self)
      result = std::max(result, self);
  return result;
}

Result<int> annotate_image(const AnnotateOptions& options, const Profile& profile,
                           const SampledImages::value_type& sampled, const Amounts& amounts,
                           const DebugFileOptions& files, const HeldFiles& held) {
  const auto& [index, code] = sampled;
  auto file = open_sampled(profile.images[index].file, files, held);
  if (!file)
    return std::move(file).error();
  return write_image({.symbols = *file->symbols,
                      .all = file->functions,
                      .found = functions_at(file->functions, code),
                      .profile = &profile,
                      .amounts = &amounts,
                      .image = index,
                      .built = file->built,
                      .owner = file->owner},
                     options);
}

Result<int> annotate_recording(const AnnotateOptions& options, const DebugFileOptions& files) {
  ReportOptions report;
  // The profile is that of `gosym report`, so that amounts here are those of its tables.
  report.inputs = {options.input};
  report.event = options.event;
  report.keeps_wrappers = true;  // their code is shown as well
  report.name_form = options.name_form;
  auto loaded = load_profile(report, *find_format("text"), files);
  if (!loaded)
    return std::move(loaded).error();
  Profile& profile = loaded->profile;
  // Amounts of several events cannot be added up. Without --event the first is shown.
  if (shown_count(profile.info.events) > 1) {
    warn(report, "only {} is shown; --event chooses another", profile.event().name);
    profile = of_event(profile, 0);
  }
  auto images = find_sampled(profile, profile.samples, options.function);
  if (!images)
    return std::move(images).error();
  if (images->empty())
    return errorf("{}: no function with samples matches '{}'", name_of({options.input}),
                  printable(options.function))
        .with_hint(
            "gosym annotate BINARY FUNC shows one without samples; one that is inlined "
            "everywhere is shown within its callers, which gosym report --callers names")
        .with_exit_status(kNoTarget);
  tell_loss(profile.stats, report);
  // One unit for all images. It suits the hottest instruction: a whole function may have much
  // more, and can still be read in it.
  Amounts amounts(profile, largest(*images));
  bool is_first = true;
  // A name may be of several files, such as two versions of a library.
  for (const auto& sampled : *images) {
    const RecordedImage& image = profile.images[sampled.first].file;
    (void)std::fputs(std::exchange(is_first, false) ? "" : "\n", stdout);
    auto written = annotate_image(options, profile, sampled, amounts, files, loaded->held);
    if (!written)
      return std::move(written).error().context(fmt::format("'{}'", printable(image.path)));
  }
  return kSuccess;
}

bool is_of_samples(const std::string& path) {
  // Standard input is taken for a recording: an ELF file would have to be mapped.
  if (path == "-" || is_directory(path))
    return true;
  auto file = MappedFile::open(path);
  return file && is_recording(as_text((*file)->bytes()));
}

Result<int> run_annotate(AnnotateOptions options) {
  if (options.input.empty())
    return Error("FUNC is required: of which function?").with_exit_status(kUsage);
  auto files = find_files_of_profile(options.debug, stderr);
  if (!files)
    return std::move(files).error();
  // A single word is the function, and the recording is that of `gosym record` without -o.
  // FILE stands first on the line, so that the word is in `input` until here.
  bool has_input = !options.function.empty();
  if (!has_input)
    options.function = std::exchange(options.input, "cpu.raw");
  // Stores of files beside the recordings are among the roots of the parser, so they are
  // looked for before; and the pager is named before, for the parser cannot start it itself.
  files->stores = stores_beside({options.input});
  auto confined = become_parser(
      {.inputs = {options.input, options.source_directory}, .roots = roots_of(*files)},
      pager_command());
  if (!confined)
    return std::move(confined).error();
  if (!has_input || is_of_samples(options.input))
    return annotate_recording(options, *files);
  auto status = annotate_binary(options, *files);
  if (!status)
    return std::move(status).error().context(fmt::format("'{}'", printable(options.input)));
  return status;
}

}  // namespace

Command make_annotate() {
  auto options = std::make_shared<AnnotateOptions>();
  // FILE stands before FUNC, though FUNC alone has to be there: a single word is taken for
  // FILE, and run_annotate() makes it FUNC.
  std::vector<Option> common = {
      {.names = "FILE",
       .help = "Recording, or an ELF file, which may be stripped (default: cpu.raw)",
       .take = into(options->input)},
      {.names = "FUNC",
       .help = "Name of a function, address of one in an ELF file, or a regular expression "
               "for several",
       .take = into(options->function)},
      {.names = "--event",
       .value = "NAME",
       .help = "Only samples of this event, if there are several",
       .take = into(options->event),
       .likely = event_type_names()},
      {.names = "--source",
       .value = "DIR",
       .help = "Look for source files below DIR first, by the ends of their paths",
       .take = into(options->source_directory)},
      {.names = "--syntax",
       .value = "NAME",
       .help = "Syntax of x86-64 instructions: att or intel (default: att)",
       .take = one_of(options->syntax,
                      {{"att", code::Syntax::kAtt}, {"intel", code::Syntax::kIntel}})},
      name_option(options->name_form),
      colour_option(options->colour),
      pager_option(options->has_pager)};
  return {.name = "annotate",
          .summary = "Show a function's instructions and source lines",
          .usage = "[OPTIONS] [FILE] FUNC",
          .groups = {{"Options", std::move(common)}, debug_options(options->debug)},
          .examples =
              "  gosym annotate main.handle              of cpu.raw, with samples\n"
              "  gosym annotate old.raw main.handle\n"
              "  gosym annotate ./server main.main       of a binary\n"
              "  gosym annotate ./server 'encoding/json.*Encode'\n"
              "  gosym annotate --source ~/src/server ./server main.handle\n",
          .rewrite = understand_annotate_words,
          .foreign_words = words_for_annotate(),
          .run = [options] { return run_annotate(*options); }};
}

}  // namespace gosym
