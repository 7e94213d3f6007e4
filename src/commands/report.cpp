#include "commands/report.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "commands/annotate/source_files.h"
#include "commands/browse.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/foreign_words.h"
#include "commands/load_profile.h"
#include "commands/needs.h"
#include "commands/option_values.h"
#include "commands/page_sources.h"
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
  if (auto checked = check_samples(profile, format); !checked)
    return checked;
  ViewOptions view = options.view;
  view.sources = std::move(sources);
  // Source lines are read by the command: views do not open files.
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
    return errorf("{} is not for a terminal", format.name)
        .with_hint(fmt::format("name a file: gosym report {}{} {}cpu.{}",
                               format.is_request ? "-f " : "--", format.name,
                               format.is_request ? "-o " : "",
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
  // The terminal is asked, and the character set chosen, before there is a second process or
  // thread.
  BrowserTerminal terminal =
      wants_browser(options) ? browser_terminal() : BrowserTerminal::kNone;
  bool opens_browser = terminal == BrowserTerminal::kFound;
  if (terminal == BrowserTerminal::kUnknown && !options.is_quiet)
    tell_unknown_terminal();
  if (opens_browser)
    choose_character_set();
  files->stores = stores_beside(options.inputs);
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
  auto& [recordings, profile, symbols, held, time, share] = *loaded;
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
              "  gosym report /var/lib/gosym --since 14:02 --until 14:05 --service nginx\n"
              "  gosym report web-1.raw web-2.raw --by host,function\n",
          .rewrite = understand_report_words,
          .foreign_words = words_for_report(),
          .run = [options] {
            if (options->inputs.empty())
              options->inputs = {"cpu.raw"};
            if (auto understood = set_span(*options); !understood)
              return Result<int>(std::move(understood).error());
            return run_report(*options);
          }};
}

namespace {

// So many images with a problem are told one by one, unless more was asked for.
constexpr size_t kMaxProblemsTold = 5;

// Rounded down: 100.0 is for whole recordings.
double recovered_percent(const raw::Recording& recording) {
  double share =
      static_cast<double>(recording.damaged_bytes) / static_cast<double>(recording.file_size);
  return std::floor(1000.0 * (1.0 - share)) / 10.0;
}

void tell_losses(const Profile& profile) {
  for (const Loss& loss : profile.losses)
    print(stderr,
          "lost        {:.1f} to {:.1f} s, CPU {}: {} samples, {} events; throttled {:.3f} s; "
          "{} ticks skipped\n",
          to_seconds(loss.begin), to_seconds(loss.end), loss.counts.cpu,
          with_commas(loss.counts.lost_samples), with_commas(loss.counts.lost_events),
          to_seconds(loss.counts.throttled_ns), with_commas(loss.counts.skipped));
}

void tell_cgroups(const Profile& profile) {
  std::map<std::string_view, uint64_t> counts;
  for (const SampleCount& sample : profile.samples)
    counts[profile.strings[profile.owner(sample).cgroup]] += sample.count;
  for (const auto& [path, count] : counts)
    if (!path.empty())
      print(stderr, "cgroup      {}, {} samples\n", path, with_commas(count));
}

// Each label with the samples that have it.
void tell_labels(const Profile& profile) {
  std::map<std::pair<std::string_view, std::string_view>, uint64_t> counts;
  for (const SampleCount& sample : profile.samples)
    for (const ProfileLabel& label : profile.label_sets[profile.owner(sample).label_set])
      counts[{profile.strings[label.key], profile.strings[label.value]}] += sample.count;
  for (const auto& [label, count] : counts)
    print(stderr, "goroutines  {}={}, {} samples\n", label.first, label.second,
          with_commas(count));
}

// Nothing of them is missing.
bool are_whole(const std::vector<NamedRecording>& recordings) {
  return std::ranges::all_of(recordings, [](const NamedRecording& one) {
    const raw::Recording& recording = one.recording;
    return recording.damaged_bytes == 0 && recording.damaged_chunks == 0 &&
           recording.damaged_samples == 0 && recording.end_time != 0;
  });
}

}  // namespace

std::string with_more(std::string first, size_t count) {
  return count == 1 ? first : fmt::format("{} and {} more", first, count - 1);
}

std::string name_of(const std::vector<std::string>& inputs) {
  return with_more(
      inputs.front() == "-" ? "standard input" : fmt::format("'{}'", printable(inputs.front())),
      inputs.size());
}

bool is_partial(const std::vector<NamedRecording>& recordings, const RecordingStats& stats,
                const ReportOptions& options) {
  // Damage counts with --strict only: what can be read of a recording is usually enough.
  bool is_cut = options.is_strict && !are_whole(recordings);
  return is_cut || loss_percent(stats) > options.max_loss;
}

std::vector<std::string> damage_of(const NamedRecording& one) {
  const raw::Recording& recording = one.recording;
  std::vector<std::string> damage;
  auto add = [&](const std::string& what) {
    damage.push_back(fmt::format("{}: {}", name_of({one.name}), what));
  };
  bool has_end = recording.end_time != 0;
  std::string size = human_size(recording.file_size);
  // A file without its end does not tell how much was to come.
  if (recording.damaged_bytes > 0 && has_end)
    add(fmt::format("{} of {} damaged, {:.1f} % recovered", human_size(recording.damaged_bytes),
                    size, recovered_percent(recording)));
  else if (recording.damaged_bytes > 0)
    add(fmt::format("{} of {} damaged or cut short, and its end is missing",
                    human_size(recording.damaged_bytes), size));
  else if (!has_end)
    add("it has no end: the recorder was killed, or is still running");
  if (recording.damaged_chunks > 0)
    add(fmt::format("chunks that do not decode: {}", recording.damaged_chunks));
  if (recording.damaged_samples > 0)
    add(fmt::format(
        "samples left out, as they do not decode: {}{}", with_commas(recording.damaged_samples),
        recording.sample_problem.empty() ? ""
                                         : " (" + printable(recording.sample_problem) + ")"));
  for (const std::string& note : recording.notes)
    add(note);
  return damage;
}

Error no_samples(const ReportOptions& options, const std::vector<NamedRecording>& recordings,
                 const Profile& profile) {
  Error error = errorf("{}: no samples{}{}", name_of(options.inputs),
                       options.event.empty() ? "" : " of " + printable(options.event),
                       profile.filter.empty() ? "" : " with " + profile.filter);
  // A hint for a profile without filters. A filter that was given is the likelier reason, and
  // replaces it: one hint only, of the first below that applies.
  std::string hint = "what was recorded used no CPU: record it while it is busy, or longer";
  if (profile.stats.charged_ns > 0)
    hint = fmt::format(
        "what was recorded used {:.3f} s of CPU time: record it longer, or at a higher "
        "--freq{}",
        to_seconds(profile.stats.charged_ns),
        profile.info.sampler == "perf" ? ", or with --sampler bpf" : "");
  if (!options.filter.cgroups.empty())
    hint = "gosym report -v without filters lists all cgroups that were sampled";
  else if (!options.filter.labels.empty())
    hint = "gosym report -v without filters lists all labels with their values";
  else if (!options.event.empty() && profile.filter.empty())
    hint = "it did not occur, or not often enough";
  else if (!options.selection.keeps_all())
    hint = "gosym report --top 0 without these options lists all functions";
  else if (!options.filter.comms.empty())
    hint = "gosym report --by comm without filters lists the names of all threads";
  else if (!options.filter.tids.empty())
    hint = "gosym report --by thread without filters lists all threads that were sampled";
  else if (!options.filter.pids.empty())
    hint = "gosym report --by process without filters lists all processes that were sampled";
  else if (options.filter.time != TimeRange())
    hint = "gosym report --by time without filters tells when there are samples";
  else if (!are_whole(recordings))
    hint = "the part that held them is damaged, or was never written";
  return std::move(error).with_hint(hint).with_exit_status(kNoTarget);
}

void tell_damage(const Profile& profile, const ReportOptions& options) {
  for (const std::string& what : profile.damage)
    warn(options, "{}", what);
}

void tell_loss(const RecordingStats& stats, const ReportOptions& options) {
  if (stats.lost_samples > 0 && options.format != "text")
    warn(options, "{} of {} samples lost", with_commas(stats.lost_samples),
         with_commas(stats.lost_samples + stats.samples));
  if (stats.skipped_percent() > 0 && options.format != "text")
    warn(options, "{:.1f} % of the ticks skipped", stats.skipped_percent());
}

void tell_problems(const SymbolizerReport& symbols, const ReportOptions& options) {
  if (symbols.cut_names > 0)
    warn(options, "{} names were too long and have been shortened",
         with_commas(symbols.cut_names));
  if (symbols.remade_places > 0)
    warn(options,
         "{} addresses had different code made in turn, and are named by when perf maps told "
         "of it, to 0.1 s",
         with_commas(symbols.remade_places));
  size_t told = 0;
  for (const auto& [path, problem] : symbols.image_problems) {
    if (told == kMaxProblemsTold && !options.is_verbose) {
      warn(options, "{} more files without symbols; -v lists them",
           symbols.image_problems.size() - told);
      return;
    }
    warn(options, "'{}': {}", path, problem);
    told++;
  }
}

void tell_details(const std::vector<NamedRecording>& recordings, const Profile& profile,
                  const SymbolizerReport& symbols) {
  for (const auto& [name, recording, unchecked] : recordings)
    print(stderr, "recording   {}{}, raw format {}.{}, {} chunks of samples\n",
          recordings.size() == 1 ? "" : name_of({name}) + ", ", human_size(recording.file_size),
          recording.major, recording.minor, recording.sample_chunks.size());
  // The end of the last stack is no begin of one, and mapping 0 stands for none (kNoMapping).
  print(stderr, "profile     {} stacks, {} locations, {} mappings\n",
        with_commas(profile.stack_begin.size() - 1), with_commas(profile.locations.size()),
        with_commas(profile.mappings.size() - 1));
  print(stderr,
        "samples     {} with callers put in, {} joined to another stack, {} cut, {} with "
        "unknown ends\n",
        with_commas(profile.unwound.repaired), with_commas(profile.unwound.bridged),
        with_commas(profile.unwound.cut), with_commas(profile.unwound.unknown));
  tell_labels(profile);
  tell_cgroups(profile);
  tell_losses(profile);
  for (const auto& [source, locations] : symbols.locations_by_source)
    print(stderr, "{:<11} {} locations\n", to_string(source), with_commas(locations));
  for (const ProfileImage& image : profile.images)
    if (image.kind == ProfileImage::Kind::kFile)
      print(stderr, "image       {}\n", image.file.path);
}

}  // namespace gosym
