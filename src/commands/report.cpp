#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "base/exit_status.h"
#include "base/shell.h"
#include "base/text.h"
#include "commands/annotate/function_lines.h"
#include "commands/browse.h"
#include "commands/character_set.h"
#include "commands/command.h"
#include "commands/debug_packages.h"
#include "commands/foreign_words.h"
#include "commands/load_profile.h"
#include "commands/needs.h"
#include "commands/page_sources.h"
#include "commands/read_inputs.h"
#include "commands/report_notes.h"
#include "commands/report_options.h"
#include "commands/terminal.h"
#include "confine/parser.h"
#include "output/output_file.h"
#include "output/text.h"
#include "view/frame_keys.h"
#include "view/recursion.h"

namespace gosym {

namespace {

// A slip such as --pprof cpu.raw would cost the recording.
Result<> check_output(const std::string& path) {
  if (path == "-")
    return Ok{};
  auto file = MappedFile::open(path);
  if (file && is_recording(as_text((*file)->bytes())))
    return errorf("'{}' is a recording: gosym does not overwrite it with a profile", path)
        .with_hint("name another file for the output")
        .with_exit_status(kUsage);
  return Ok{};
}

// A file has no width, and colours only if they are asked for.
Screen screen_of(const ReportOptions& options) {
  if (options.output == "-")
    return standard_output(options.colour);
  return {.has_colour = options.colour == ColourMode::kAlways};
}

Result<> write_profile(Profile& profile, const Format& format, const ReportOptions& options,
                       FunctionLines& lines, std::vector<SourceText> sources) {
  ViewOptions view = options.view;
  view.sources = std::move(sources);
  view.write_lines = [&](const Profile& p, const ViewOptions& o, const Amounts& a) {
    return lines.text(p, o, a);
  };
  // Trees of views count what they fold.
  if (view.folds_recursion && !format.has_views)
    fold_recursion(profile);
  view.is_verbose = options.is_verbose;
  view.screen = screen_of(options);
  std::string text;
  bool is_on_terminal =
      options.format == "text" && options.output == "-" && view.screen.has_width();
  // A pager is worth it only for what is longer than the screen: all of it is made first.
  if (is_on_terminal) {
    write_events(profile, format, view, [&](std::string_view part) {
      text += on_screen(part, view.screen);
      return true;
    });
    if (options.has_pager && show_in_pager(text, view.screen))
      return Ok{};
  }
  auto file = OutputFile::open(options.output, readers_of(format.name, profile));
  if (!file)
    return std::move(file).error();
  if (is_on_terminal)
    file->write(text);
  else
    write_events(profile, format, view, [&](std::string_view data) {
      return format.name == "text" ? file->write(on_screen(data, view.screen))
                                   : file->write(data);
    });
  auto written = file->finish();
  if (!written || options.output == "-" || options.is_quiet)
    return written;
  print(stderr, "wrote {}, {}\n", options.output, human_size(file->size()));
  // By its name the file is for the compiler.
  std::string_view next =
      options.output.ends_with(".pgo") ? "go build -pgo={}" : format.next_command;
  if (!next.empty())
    print(stderr, "next: {}\n",
          fmt::format(fmt::runtime(next), shell_quoted(as_operand(options.output))));
  return Ok{};
}

// Tables grow by being copied. If what they leave goes back to the kernel, and comes from there
// again page by page, a report of 200,000 samples of prometheus takes a sixth more time; kept,
// a quarter more memory.
void keep_freed_memory() {
  constexpr int kNever = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kNever);
  mallopt(M_TRIM_THRESHOLD, kNever);
}

// Options that contradict each other are refused before anything is read.
Result<> check_options(const ReportOptions& options, const Format& format) {
  if (options.has_needs && !has_needs(format.name))
    return errorf("--needs: a list of files is text, csv, md or json, not {}", format.name)
        .with_exit_status(kUsage);
  if (format.is_binary && options.output == "-" && isatty(STDOUT_FILENO) != 0)
    return errorf("a {} profile is not for a terminal", format.name)
        .with_hint(fmt::format("name a file: gosym report --{0} cpu.{1}", format.name,
                               format.name == "pprof" ? "pb.gz" : format.name))
        .with_exit_status(kUsage);
  if (options.has_goids && options.format != "pprof")
    return Error("--goid: only a pprof profile has the numbers of goroutines")
        .with_hint("gosym report --goid --pprof cpu.pb.gz, or --by goroutine")
        .with_exit_status(kUsage);
  if (!format.has_views && (options.view.view != View::kSummary || !options.view.by.empty()))
    return errorf("a {} profile has all stacks: views are for text, csv and md", format.name)
        .with_hint("leave out --tree, --inverted, --callers, --callees, --lines and --by")
        .with_exit_status(kUsage);
  if (auto checked = check_view(options.view); !checked)
    return checked;
  return check_output(options.output);
}

// Finds the function of --callers, --callees and --lines. A text that matches no name may be a
// name with what tells it from others, as reports have it: "main.main (link)".
Result<> find_function(const Profile& profile, std::optional<FunctionChoice>& function) {
  if (!function)
    return Ok{};
  FrameKeys keys(profile, Dimension::Kind::kFunction);
  // A pattern that matches comes first; only a text without a match is tried as a label.
  auto is_meant = [&](const ViewKey& key) { return function->matches(key); };
  if (std::ranges::any_of(keys.all(), is_meant))
    return Ok{};
  for (const ViewKey& key : keys.all())
    if (ChosenKey chosen = keys.choose(profile, key); chosen.label() == function->text()) {
      function = FunctionChoice(std::move(chosen));
      return Ok{};
    }
  return errorf("no function that was sampled matches '{}'", printable(function->text()))
      .with_hint("gosym report --top 0 lists all functions")
      .with_exit_status(kNoTarget);
}

// Checks --by label:KEY: a slip would show one row, "(none)".
Result<> check_labels(const Profile& profile, const ReportOptions& options) {
  std::set<std::string_view> keys;
  for (const std::vector<ProfileLabel>& set : profile.label_sets)
    for (const ProfileLabel& label : set)
      keys.insert(profile.strings[label.key]);
  for (const Dimension& dimension : options.view.by) {
    if (dimension.kind != Dimension::Kind::kLabel || keys.contains(dimension.label))
      continue;
    constexpr size_t kNamed = 10;
    std::vector<std::string> names;
    for (std::string_view key : keys)
      if (names.size() < kNamed)
        names.push_back(printable(key));
    return errorf("no sample has a label '{}'", printable(dimension.label))
        .with_hint(names.empty() ? "programs set labels by runtime/pprof: pprof.Do(ctx, "
                                   "pprof.Labels(\"tenant\", id), handle)"
                                 : "labels are " + joined(names, ", "))
        .with_exit_status(kNoTarget);
  }
  return Ok{};
}

Result<int> write_needs(const LoadedProfile& loaded, const ReportOptions& options,
                        const DebugFileOptions& files) {
  auto needed = find_needed(loaded.profile, files, loaded.held);
  auto file = OutputFile::open(options.output);
  if (!file)
    return std::move(file).error();
  file->write(
      make_needs(needed, loaded.profile, loaded.symbols, options.format, screen_of(options)));
  if (auto written = file->finish(); !written)
    return std::move(written).error();
  return is_partial(loaded.recordings, loaded.profile.stats, options) ? kPartial : kSuccess;
}

// The browser is for a terminal, unless it is to be text, as in perf.
bool wants_browser(const ReportOptions& options) {
  return is_browsed(options.view.view) && options.format == "text" && options.output == "-" &&
         !options.is_stdio && !options.has_needs && !options.is_verbose &&
         options.inputs.front() != "-";
}

Result<int> run_report(ReportOptions& options) {
  keep_freed_memory();
  // Wrong use is found before the files are read, which may take a minute.
  const Format& format = *find_format(options.format);
  auto files = find_files_of_profile(options.debug, options.is_quiet ? nullptr : stderr);
  if (!files)
    return std::move(files).error();
  BrowserTerminal terminal =
      wants_browser(options) ? browser_terminal() : BrowserTerminal::kNone;
  bool opens_browser = terminal == BrowserTerminal::kFound;
  if (terminal == BrowserTerminal::kUnknown && !options.is_quiet)
    tell_unknown_terminal();
  if (opens_browser)
    choose_character_set();
  std::vector<std::string> inputs = options.inputs;
  if (!options.source_directory.empty())
    inputs.push_back(options.source_directory);
  // From here on this process reads files of strangers, with no right but to what is named
  // here.
  auto confined = become_parser({.inputs = inputs,
                                 .roots = roots_of(*files),
                                 .outputs = {options.output},
                                 .has_exports = opens_browser},
                                pager_command());
  if (!confined)
    return std::move(confined).error();
  if (auto checked = check_options(options, format); !checked)
    return std::move(checked).error();
  // The browser loads the recording itself, so that its screen is there at once.
  if (opens_browser)
    return browse_recording(options, *std::move(files));
  auto loaded = load_profile(options, format, *files);
  if (!loaded)
    return std::move(loaded).error();
  auto& [recordings, profile, symbols, held, share] = *loaded;
  if (options.has_needs)
    return write_needs(*loaded, options, *files);
  if (auto found = find_function(profile, options.view.function); !found)
    return std::move(found).error();
  if (auto checked = check_labels(profile, options); !checked)
    return std::move(checked).error();
  if (options.format == "text")
    find_debug_packages(profile, held);  // that have the names which are missing
  FunctionLines lines(options.source_directory, *files, held);
  PageSources sources;
  if (options.has_page_sources)
    sources = find_page_sources(profile, options.source_directory, *files, held);
  auto written = write_profile(profile, format, options, lines, std::move(sources.texts));
  if (!written)
    return std::move(written).error();

  // Last, where they are still on the screen: what the profile lacks, and why.
  tell_loss(profile.stats, options);
  tell_problems(symbols, options);
  for (const std::string& note : lines.notes())
    warn(options, "{}", note);
  if (options.has_page_sources && !options.is_quiet)
    print(stderr, "{} of {} source files are in the page, whole{}\n", sources.texts.size(),
          sources.wanted,
          sources.texts.size() < sources.wanted
              ? "; --source DIR looks for the others below DIR"
              : "");
  for (const std::string& warning : sources.warnings)
    warn(options, "{}", warning);
  if (options.is_verbose)
    tell_details(recordings, profile, symbols);
  return is_partial(recordings, profile.stats, options) ? kPartial : kSuccess;
}

}  // namespace

Command make_report() {
  auto options = std::make_shared<ReportOptions>();
  return {.name = "report",
          .summary = "Show the functions that a recording sampled",
          .usage = "[OPTIONS] [FILE...]",
          .groups = report_options(*options),
          .examples =
              "  gosym report                      top functions and paths of cpu.raw\n"
              "  gosym report --callers malloc     who calls it\n"
              "  gosym report --by package         which packages use the CPU\n"
              "  gosym report --tree --focus json  the call tree of what has to do with json\n"
              "  gosym report --pprof cpu.pb.gz    then: go tool pprof -http=: cpu.pb.gz\n"
              "  gosym report --folded | flamegraph.pl > cpu.svg\n"
              "  gosym report --comm nginx --time 2,5 old.raw\n"
              "  gosym report web-1.raw web-2.raw --by host,function\n",
          .rewrite = understand_report_words,
          .foreign_words = words_for_report(),
          .run = [options] {
            options->filter.time = *parse_time_range(options->time);
            if (options->inputs.empty())
              options->inputs = {"cpu.raw"};
            return run_report(*options);
          }};
}

}  // namespace gosym
