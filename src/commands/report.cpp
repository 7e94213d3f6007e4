#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <map>
#include <memory>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/id_check.h"
#include "commands/loss_option.h"
#include "commands/name_option.h"
#include "output/format.h"
#include "output/output_file.h"
#include "profile/filter.h"
#include "profile/go_stacks.h"
#include "profile/replay.h"
#include "raw/archived_files.h"
#include "raw/format.h"
#include "raw/reader.h"
#include "symbolize/symbolizer.h"
#include "symbolize/unwind.h"

namespace gosym {

namespace {

// So many images with a problem are told one by one, unless more was asked for.
constexpr size_t kMaxProblemsTold = 5;

struct Options {
  std::string input = "cpu.raw";
  std::string format = "text";
  std::string output = "-";
  std::string time = ",";
  OutputOptions page;
  Filter filter;
  std::optional<NameForm> name_form;  // none: as the format needs them
  DebugOptions debug;
  bool keeps_wrappers = false;
  bool has_goids = false;
  bool is_strict = false;
  std::string max_loss;
  bool is_verbose = false;
  bool is_quiet = false;
};

std::string quoted(const std::string& path) {
  return path == "-" ? "standard input" : fmt::format("'{}'", printable(path));
}

template <class... Args>
void warn(const Options& options, fmt::format_string<Args...> format, Args&&... args) {
  if (!options.is_quiet)
    print(stderr, "gosym: warning: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

Result<raw::Recording> read(const Options& options) {
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

RecordedSample sample_of(const raw::SampleBatch& batch, const raw::SampleBatch::Row& row) {
  return {.time = row.time,
          .pid = row.pid,
          .tid = row.tid,
          .cpu = row.cpu,
          .user_end = row.user_end,
          .kernel_stack = batch.stack(row.kernel_stack),
          .user_stack = batch.stack(row.user_stack),
          .frame_offset = row.frame_offset,
          .words = batch.top(row.top),
          .goid = row.goid,
          .labels = batch.labels(row.label_set),
          .bridge = row.bridge,
          .weight = row.weight,
          .cgroup = row.cgroup};
}

// The time that the profile is of: that of the recording, or the filter's part of it.
void set_times(const raw::Recording& recording, uint64_t end_time, const TimeRange& range,
               Profile& profile) {
  uint64_t duration = end_time - std::min(recording.monotonic_ns, end_time);
  uint64_t begin = std::min(range.begin, duration);
  profile.start_realtime_ns = recording.realtime_ns + begin;
  profile.duration_ns = std::min(range.end, duration) - begin;
}

std::vector<Loss> losses_since(std::vector<Loss> losses, uint64_t start) {
  for (Loss& loss : losses) {
    loss.begin -= std::min(loss.begin, start);
    loss.end -= std::min(loss.end, start);
  }
  return losses;
}

// Without goids, equal samples of different goroutines are one.
Profile replay(raw::Recording& recording, const Filter& filter, bool has_goids) {
  Replay replay(std::move(recording.info), std::move(recording.images),
                std::move(recording.events), recording.perf_maps);
  uint64_t end_time = std::max(recording.end_time, recording.stats.time);
  for (const raw::Recording::StoredChunk& chunk : recording.sample_chunks) {
    auto batch = raw::read_samples(chunk);
    if (!batch) {
      recording.damaged_chunks++;
      continue;
    }
    for (const raw::SampleBatch::Row& row : batch->rows()) {
      RecordedSample sample = sample_of(*batch, row);
      if (!has_goids)
        sample.goid = 0;
      end_time = std::max(end_time, sample.time);
      if (filter.keeps(sample, replay.comm(sample), replay.cgroup(sample),
                       recording.monotonic_ns))
        replay.add(sample);
    }
  }

  Profile profile = std::move(replay).finish();
  profile.stats = recording.stats;
  profile.losses = losses_since(recording.losses, recording.monotonic_ns);
  profile.filter = filter.to_string();
  set_times(recording, end_time, filter.time, profile);
  return profile;
}

// Those that have samples. Damaged pieces are counted with the other chunks.
raw::ArchivedFiles open_archived_files(raw::Recording& recording, const Profile& profile) {
  std::map<ImageId, const RecordedImage*> wanted;
  for (const ProfileImage& image : profile.images)
    if (image.kind == ProfileImage::Kind::kFile)
      wanted[image.file.id] = &image.file;
  raw::ArchivedFiles files = raw::open_archived_files(recording.piece_chunks, wanted);
  recording.damaged_chunks += files.damaged_chunks;
  recording.piece_chunks.clear();
  return files;
}

// Rounded down: 100.0 is for whole recordings.
double recovered_percent(const raw::Recording& recording) {
  double share =
      static_cast<double>(recording.damaged_bytes) / static_cast<double>(recording.file_size);
  return std::floor(1000.0 * (1.0 - share)) / 10.0;
}

bool is_whole(const raw::Recording& recording) {
  return recording.damaged_bytes == 0 && recording.damaged_chunks == 0 &&
         recording.end_time != 0;
}

void tell_damage(const raw::Recording& recording, const Options& options) {
  std::string name = quoted(options.input);
  if (recording.damaged_bytes > 0)
    warn(options, "{}: {} of {} damaged or cut short, {:.1f} % recovered", name,
         human_size(recording.damaged_bytes), human_size(recording.file_size),
         recovered_percent(recording));
  if (recording.damaged_chunks > 0)
    warn(options, "{}: chunks that do not decode: {}", name, recording.damaged_chunks);
  if (recording.end_time == 0 && recording.damaged_bytes == 0)
    warn(options, "{}: it has no end: the recorder was killed, or is still running", name);
}

Error no_samples(const Options& options, const raw::Recording& recording,
                 const Profile& profile) {
  Error error = errorf("{}: no samples{}", quoted(options.input),
                       profile.filter.empty() ? "" : " with " + printable(profile.filter));
  std::string hint = "what was recorded used no CPU: record it while it is busy, or longer";
  if (!options.filter.labels.empty())
    hint = "gosym report -v without filters lists all labels with their values";
  else if (!profile.filter.empty())
    hint = "gosym report --top 0 without filters lists all processes that were sampled";
  else if (!is_whole(recording))
    hint = "the part that held them is damaged, or was never written";
  return std::move(error).with_hint(hint).with_exit_status(kNoTarget);
}

// For a reader of anything but the text, which has a line for it.
void tell_loss(const RecordingStats& stats, const Options& options) {
  if (stats.lost_samples > 0 && options.format != "text")
    warn(options, "{} of {} samples lost", with_commas(stats.lost_samples),
         with_commas(stats.lost_samples + stats.samples));
}

void tell_problems(const SymbolizerReport& symbols, const Options& options) {
  size_t told = 0;
  for (const auto& [path, problem] : symbols.image_problems) {
    if (told == kMaxProblemsTold && !options.is_verbose) {
      warn(options, "{} more files without symbols; -v lists them",
           symbols.image_problems.size() - told);
      return;
    }
    warn(options, "'{}': {}", printable(path), printable(problem));
    told++;
  }
}

void tell_losses(const Profile& profile) {
  for (const Loss& loss : profile.losses)
    print(stderr,
          "lost        {:.1f} to {:.1f} s, CPU {}: {} samples, {} events; throttled {:.3f} s\n",
          static_cast<double>(loss.begin) / 1e9, static_cast<double>(loss.end) / 1e9,
          loss.counts.cpu, with_commas(loss.counts.lost_samples),
          with_commas(loss.counts.lost_events),
          static_cast<double>(loss.counts.throttled_ns) / 1e9);
}

// Each label with the samples that have it.
void tell_labels(const Profile& profile) {
  std::map<std::pair<std::string_view, std::string_view>, uint64_t> counts;
  for (const SampleCount& sample : profile.samples)
    for (const ProfileLabel& label : profile.label_sets[sample.label_set])
      counts[{profile.strings[label.key], profile.strings[label.value]}] += sample.count;
  for (const auto& [label, count] : counts)
    print(stderr, "goroutines  {}={}, {} samples\n", printable(label.first),
          printable(label.second), with_commas(count));
}

void tell_details(const raw::Recording& recording, const Profile& profile,
                  const SymbolizerReport& symbols) {
  print(stderr, "recording   {}, raw format {}.{}, {} chunks of samples\n",
        human_size(recording.file_size), recording.major, recording.minor,
        recording.sample_chunks.size());
  print(stderr, "profile     {} stacks, {} locations, {} mappings\n",
        with_commas(profile.stack_begin.size() - 1), with_commas(profile.locations.size()),
        with_commas(profile.mappings.size() - 1));
  print(stderr,
        "samples     {} with callers put in, {} joined to a goroutine's stack, {} cut\n",
        with_commas(profile.unwound.repaired), with_commas(profile.unwound.bridged),
        with_commas(profile.unwound.cut));
  tell_labels(profile);
  tell_losses(profile);
  for (const auto& [source, locations] : symbols.locations_by_source)
    print(stderr, "{:<11} {} locations\n", to_string(source), with_commas(locations));
  for (const ProfileImage& image : profile.images)
    if (image.kind == ProfileImage::Kind::kFile)
      print(stderr, "image       {}\n", printable(image.file.path));
}

NameForms name_forms(const Options& options, const Format& format) {
  NameForm go = format.is_for_tools ? NameForm::kNone : NameForm::kShort;
  return {.go = options.name_form.value_or(go),
          .native = options.name_form.value_or(NameForm::kShort),
          .has_system_names = format.is_for_tools};
}

// A slip such as --pprof cpu.raw would cost the recording.
Result<> check_output(const std::string& path) {
  if (path == "-")
    return Ok{};
  auto file = MappedFile::open(path);
  if (file && as_text((*file)->bytes()).starts_with(raw::kMagic))
    return errorf("'{}' is a recording: it is not written over", printable(path))
        .with_hint("name another file for the output")
        .with_exit_status(kUsage);
  return Ok{};
}

Result<> write(const Profile& profile, const Format& format, const Options& options) {
  std::string data = format.make(profile, options.page);
  auto written = write_output(options.output, data);
  if (!written || options.output == "-" || options.is_quiet)
    return written;
  std::string path = printable(options.output);
  print(stderr, "wrote {}, {}\n", path, human_size(data.size()));
  if (!format.next_command.empty())
    print(stderr, "next: {}\n", fmt::format(fmt::runtime(format.next_command), path));
  return Ok{};
}

Result<int> run(const Options& options) {
  const Format& format = *find_format(options.format);
  if (format.is_binary && options.output == "-" && isatty(STDOUT_FILENO) != 0)
    return errorf("a {} profile is not for a terminal", format.name)
        .with_hint("name a file: gosym report --pprof cpu.pb.gz")
        .with_exit_status(kUsage);
  if (options.has_goids && options.format != "pprof")
    return Error("--goid: only a pprof profile has the numbers of goroutines")
        .with_hint("gosym report --goid --pprof cpu.pb.gz")
        .with_exit_status(kUsage);

  auto files = find_debug_files(options.debug, options.is_quiet ? nullptr : stderr);
  if (!files)
    return std::move(files).error();
  if (auto checked = check_output(options.output); !checked)
    return std::move(checked).error();
  auto recording = read(options);
  if (!recording)
    return std::move(recording).error();
  Profile profile = replay(*recording, options.filter, options.has_goids);
  raw::ArchivedFiles archived = open_archived_files(*recording, profile);
  tell_damage(*recording, options);
  if (profile.samples.empty())
    return no_samples(options, *recording, profile);
  unwind(profile, recording->vdso, *files, archived.files);
  SymbolizerReport symbols = symbolize(profile,
                                       {.kernel = recording->kernel_symbols,
                                        .vdso = recording->vdso,
                                        .perf_maps = recording->perf_maps,
                                        .files = std::move(archived.files),
                                        .file_problems = std::move(archived.problems)},
                                       name_forms(options, format), *files);
  if (!options.keeps_wrappers)
    hide_wrappers(profile);
  auto written = write(profile, format, options);
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

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats())
    names.emplace_back(format.name);
  return names;
}

// Checks for CLI11: what is wrong with the text, or nothing.
std::string check_count(const std::string& text) {
  return parse_decimal(text) ? std::string() : fmt::format("'{}' is not a count", text);
}

std::string check_label(const std::string& text) {
  size_t equals = text.find('=');
  return equals != text.npos && equals > 0
             ? std::string()
             : fmt::format("'{}' is not KEY=VALUE", printable(text));
}

std::string check_time(const std::string& text) {
  auto range = parse_time_range(text);
  return range ? std::string() : range.error().message();
}

void add_output_options(CLI::App& app, Options& options) {
  app.add_option("--top", options.page.top, "Show this many functions; 0 for all (default 20)")
      ->check(check_count, "")
      ->type_name("N");
  CLI::Option* format =
      app.add_option("-f,--format", options.format, "Form of the output (default text)")
          ->check(CLI::IsMember(format_names()))
          ->type_name("FORMAT");
  CLI::Option* output =
      app.add_option("-o,--output", options.output, "Write to FILE, not to standard output")
          ->type_name("FILE");
  CLI::Option* folded = app.add_flag_callback(
      "--folded", [&options] { options.format = "folded"; },
      "Write folded stacks, for flame graphs");
  app.add_option_function<std::string>(
         "--pprof",
         [&options](const std::string& file) {
           options.format = "pprof";
           options.output = file;
         },
         "Write a profile for go tool pprof and go build -pgo")
      ->excludes(format)
      ->excludes(output)
      ->excludes(folded)
      ->type_name("FILE");
  folded->excludes(format);
}

void add_filter_options(CLI::App& app, Options& options) {
  auto as_list = [](CLI::Option* option, const char* type) {
    option->delimiter(',')->allow_extra_args(false)->type_name(type);
  };
  Filter& filter = options.filter;
  as_list(app.add_option("--pid", filter.pids, "Only these processes: 1,2 or repeated")
              ->check(check_id("process"), ""),
          "PID");
  as_list(
      app.add_option("--tid", filter.tids, "Only these threads")->check(check_id("thread"), ""),
      "TID");
  as_list(app.add_option("--comm", filter.comms, "Only threads of these names"), "NAME");
  as_list(app.add_option("--cgroup", filter.cgroups,
                         "Only what ran in this cgroup or below it, or container of this id"),
          "PATH|ID");
  app.add_option("--label", filter.labels,
                 "Only goroutines with this label, as runtime/pprof sets it")
      ->check(check_label, "")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_option("--time", options.time,
                 "Only from A to B, in seconds since the start; either may be empty")
      ->check(check_time, "")
      ->type_name("A,B");
}

}  // namespace

Command make_report(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("report", "Name what was sampled");
  app->add_option("-i,--input,FILE", options->input,
                  "Recording to read (default cpu.raw; - for standard input)")
      ->type_name("");
  add_output_options(*app, *options);
  add_filter_options(*app, *options);
  add_name_option(*app, options->name_form);
  add_debug_options(*app, options->debug);
  app->add_flag("--wrappers", options->keeps_wrappers,
                "Keep wrappers, which Go's runtime leaves out of its stacks");
  app->add_flag("--goid", options->has_goids,
                "Tell goroutines apart: their numbers are labels of the pprof output");
  app->add_flag("--strict", options->is_strict,
                "Exit with status 3 if the recording is damaged or cut short");
  add_loss_option(*app, options->max_loss);
  CLI::Option* verbose = app->add_flag("-v,--verbose", options->is_verbose, "Tell more");
  app->add_flag("-q,--quiet", options->is_quiet, "Tell nothing but errors")->excludes(verbose);
  app->footer(
      "Examples:\n"
      "  gosym report                                 top functions of cpu.raw\n"
      "  gosym report --pprof cpu.pb.gz               then: go tool pprof -http=: cpu.pb.gz\n"
      "  gosym report --folded | flamegraph.pl > cpu.svg\n"
      "  gosym report --comm nginx --time 2,5 old.raw\n");
  return {app, [options] {
            options->filter.time = *parse_time_range(options->time);
            return run(*options);
          }};
}

}  // namespace gosym
