#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>

#include "base/exit_status.h"
#include "base/shell.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/loss_option.h"
#include "commands/replay_recording.h"
#include "commands/report_notes.h"
#include "commands/report_options.h"
#include "commands/terminal.h"
#include "output/output_file.h"
#include "output/text.h"
#include "profile/go_stacks.h"
#include "raw/archived_files.h"
#include "raw/format.h"
#include "symbolize/symbolizer.h"
#include "symbolize/unwind.h"

namespace gosym {

namespace {

Result<raw::Recording> read_input(const ReportOptions& options) {
  auto recording = raw::read(options.input);
  if (recording || options.input == "-")
    return recording;
  if (access(options.input.c_str(), F_OK) != 0 && errno == ENOENT)
    return std::move(recording).error().with_hint(
        "make a recording first: gosym record -p PID -d 10s");
  if (access(options.input.c_str(), R_OK) != 0 && errno == EACCES)
    return std::move(recording).error().with_hint(
        "a recording is for those who made it: sudo gosym report");
  return recording;
}

// Those that have samples. Damaged pieces are counted with the other chunks.
raw::ArchivedFiles open_archived_files(raw::Recording& recording, Profile& profile) {
  std::map<ImageId, const RecordedImage*> wanted;
  for (const ProfileImage& image : profile.images)
    if (image.kind == ProfileImage::Kind::kFile)
      wanted[image.file.id] = &image.file;
  raw::ArchivedFiles files =
      raw::open_archived_files(recording.piece_chunks, wanted, profile.memory_limit);
  profile.memory_limit -= files.size;
  recording.damaged_chunks += files.damaged_chunks;
  recording.piece_chunks.clear();
  return files;
}

NameForms name_forms(const ReportOptions& options, const Format& format) {
  NameForm go = format.is_for_tools ? NameForm::kNone : NameForm::kShort;
  return {.go = options.name_form.value_or(go),
          .native = options.name_form.value_or(NameForm::kShort),
          .has_system_names = format.is_for_tools};
}

using EventChoice = std::optional<uint32_t>;

// The event that the profile is to be of; none: all of them.
Result<EventChoice> choose_event(const RecordingInfo& info, const Format& format,
                                 const ReportOptions& options) {
  std::vector<std::string> names;
  for (const RecordedEvent& event : info.events)
    names.push_back(printable(event.name));
  if (!options.event.empty()) {
    auto found = std::ranges::find(info.events, options.event, &RecordedEvent::name);
    if (found == info.events.end())
      return errorf("--event: {} is of {}, not of {}", name_of(options.input),
                    joined(names, " and "), printable(options.event))
          .with_exit_status(kNoTarget);
    return EventChoice(static_cast<uint32_t>(found - info.events.begin()));
  }
  if (names.size() == 1 || format.events != EventsWritten::kFirst)
    return EventChoice();
  warn(options, "only {} is written, of {}; --event chooses another", names.front(),
       joined(names, " and "));
  return EventChoice(0);
}

// A slip such as --pprof cpu.raw would cost the recording.
Result<> check_output(const std::string& path) {
  if (path == "-")
    return Ok{};
  auto file = MappedFile::open(path);
  if (file && as_text((*file)->bytes()).starts_with(raw::kMagic))
    return errorf("'{}' is a recording: it is not written over", path)
        .with_hint("name another file for the output")
        .with_exit_status(kUsage);
  return Ok{};
}

// A file has no width, and colours only if they are asked for.
Screen screen_of(const ReportOptions& options) {
  ColourMode mode = options.colour == "always"  ? ColourMode::kAlways
                    : options.colour == "never" ? ColourMode::kNever
                                                : ColourMode::kAuto;
  if (options.output == "-")
    return standard_output(mode);
  return {.has_colour = mode == ColourMode::kAlways};
}

// Of --by time: what was asked for, or a round number that makes some twenty steps; 0: time is
// not asked for.
uint64_t time_step(const raw::Recording& recording, const ReportOptions& options) {
  constexpr uint64_t kSteps = 20;
  auto by = std::ranges::find(options.view.by, Dimension::Kind::kTime, &Dimension::kind);
  if (by == options.view.by.end() || by->step != 0)
    return by == options.view.by.end() ? 0 : by->step;
  uint64_t end = std::max(recording.end_time, recording.stats.time);
  uint64_t duration = end - std::min(end, recording.begin_time);
  for (uint64_t unit = 1'000'000;; unit *= 10)
    for (uint64_t step : {unit, 2 * unit, 5 * unit})
      if (step >= duration / kSteps)
        return step;
}

// Who is told apart, though the stacks are equal, by what is written.
GroupBy group_by_of(const raw::Recording& recording, const ReportOptions& options) {
  auto is_by = [&](Dimension::Kind kind) {
    return std::ranges::find(options.view.by, kind, &Dimension::kind) != options.view.by.end();
  };
  return {.has_tids = options.format == "pprof" || is_by(Dimension::Kind::kThread),
          .has_goids = options.has_goids || is_by(Dimension::Kind::kGoroutine),
          .has_cpus = is_by(Dimension::Kind::kCpu),
          .time_step = time_step(recording, options)};
}

void write_events(Profile& profile, const Format& format, const ViewOptions& view,
                  const Write& write) {
  size_t count = profile.info.events.size();
  if (count == 1 || format.events == EventsWritten::kTogether)
    return format.write(profile, view, write);
  for (uint32_t event = 0; event < count; event++) {
    if (event > 0)
      write("\n");
    EventPart part = select_event(profile, event);
    exchange(part, profile);
    format.write(profile, view, write);
    exchange(part, profile);
  }
}

Result<> write_profile(Profile& profile, const Format& format, const ReportOptions& options) {
  ViewOptions view = options.view;
  view.is_verbose = options.is_verbose;
  view.screen = screen_of(options);
  if (options.format == "text" && options.output == "-" && view.screen.has_width()) {
    std::string text;
    write_events(profile, format, view, [&](std::string_view part) {
      text += part;
      return true;
    });
    if (options.has_pager && show_in_pager(text, view.screen))
      return Ok{};
  }
  auto file = OutputFile::open(options.output);
  if (!file)
    return std::move(file).error();
  write_events(profile, format, view, [&](std::string_view data) { return file->write(data); });
  auto written = file->finish();
  if (!written || options.output == "-" || options.is_quiet)
    return written;
  print(stderr, "wrote {}, {}\n", options.output, human_size(file->size()));
  if (!format.next_command.empty())
    print(stderr, "next: {}\n",
          fmt::format(fmt::runtime(format.next_command),
                      shell_quoted(as_operand(options.output))));
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

Result<int> run_report(const ReportOptions& options) {
  keep_freed_memory();
  const Format& format = *find_format(options.format);
  if (format.is_binary && options.output == "-" && isatty(STDOUT_FILENO) != 0)
    return errorf("a {} profile is not for a terminal", format.name)
        .with_hint("name a file: gosym report --pprof cpu.pb.gz")
        .with_exit_status(kUsage);
  if (options.has_goids && options.format != "pprof")
    return Error("--goid: only a pprof profile has the numbers of goroutines")
        .with_hint("gosym report --goid --pprof cpu.pb.gz")
        .with_exit_status(kUsage);

  if (!format.has_views && (options.view.view != View::kSummary || !options.view.by.empty()))
    return errorf("a {} profile has all stacks: views are for text, csv and md", format.name)
        .with_hint("leave out --tree, --inverted, --callers, --callees, --lines and --by")
        .with_exit_status(kUsage);

  auto files = find_debug_files(options.debug, options.is_quiet ? nullptr : stderr);
  if (!files)
    return std::move(files).error();
  if (auto checked = check_output(options.output); !checked)
    return std::move(checked).error();
  auto recording = read_input(options);
  if (!recording)
    return std::move(recording).error();
  auto event = choose_event(recording->info, format, options);
  if (!event)
    return std::move(event).error();
  Filter filter = options.filter;
  filter.event = *event;
  auto replayed = replay(*recording, filter, group_by_of(*recording, options));
  if (!replayed)
    return std::move(replayed).error().context(name_of(options.input));
  Profile profile = std::move(replayed->profile);
  raw::ArchivedFiles archived = open_archived_files(*recording, profile);
  tell_damage(*recording, options);
  if (profile.samples.empty())
    return no_samples(options, *recording, profile);
  if (!unwind(profile, replayed->dumps, recording->vdso, *files, archived.files))
    return raw::out_of_budget(*recording).context(name_of(options.input));
  replayed->dumps = {};
  SymbolizerReport symbols = symbolize(profile,
                                       {.kernel = recording->kernel_symbols,
                                        .vdso = recording->vdso,
                                        .perf_maps = recording->perf_maps,
                                        .files = std::move(archived.files),
                                        .file_problems = std::move(archived.problems)},
                                       name_forms(options, format), *files);
  if (!options.keeps_wrappers)
    hide_wrappers(profile);
  select(profile, options.selection);
  if (profile.samples.empty())
    return no_samples(options, *recording, profile);
  auto written = write_profile(profile, format, options);
  if (!written)
    return std::move(written).error();

  tell_loss(profile.stats, options);
  tell_problems(symbols, options);
  if (options.is_verbose)
    tell_details(*recording, profile, symbols);
  bool is_cut = options.is_strict && !is_whole(*recording);
  bool has_lost_too_much = loss_percent(profile.stats) > *parse_loss(options.max_loss);
  return is_cut || has_lost_too_much ? kPartial : kSuccess;
}

}  // namespace

Command make_report() {
  auto options = std::make_shared<ReportOptions>();
  return {.name = "report",
          .summary = "Name what was sampled",
          .usage = "[OPTIONS] [FILE]",
          .groups = report_options(*options),
          .examples =
              "  gosym report                      top functions of cpu.raw\n"
              "  gosym report --pprof cpu.pb.gz    then: go tool pprof -http=: cpu.pb.gz\n"
              "  gosym report --folded | flamegraph.pl > cpu.svg\n"
              "  gosym report --comm nginx --time 2,5 old.raw\n",
          .run = [options] {
            options->filter.time = *parse_time_range(options->time);
            return run_report(*options);
          }};
}

}  // namespace gosym
