#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/file_tree.h"
#include "base/text.h"
#include "commands/browse.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/foreign_words.h"
#include "commands/load_profile.h"
#include "commands/option_values.h"
#include "commands/record.h"
#include "commands/record_options.h"
#include "commands/report_options.h"
#include "commands/terminal.h"
#include "confine/parser.h"
#include "live/live_recording.h"
#include "output/write.h"
#include "profile/accumulated_profile.h"
#include "profile/rewrite_stacks.h"

namespace gosym {

// A recorder and a report in one process. The recording runs in a thread of its own and keeps
// a window of samples in memory (live/live_recording.h); this thread makes a profile of it at
// each interval, for the browser or as text. Rights are given up as in `record`.

namespace {

// The command line of `gosym top`.
struct TopOptions {
  RecordOptions record;
  ViewOptions view;
  Selection selection;
  std::optional<NameForm> name_form;
  DebugOptions debug;
  uint64_t interval_ns = 2'000'000'000;
  uint64_t window_ns = 10'000'000'000;
  std::string save;  // a file; empty: none
  ColourMode colour = ColourMode::kAuto;
  size_t count = 0;  // of reports; 0: no limit
  bool is_batch = false;
  bool accumulates = false;
  bool keeps_wrappers = false;
};

// TopOptions, parsed.
struct TopPlan {
  RecordPlan record;
  uint64_t interval_ns = 0;
  uint64_t window_ns = 0;
};

Result<TopPlan> make_top_plan(TopOptions& options) {
  RecordOptions& record = options.record;
  // Shows everything unless it is told what, as top(1) does.
  record.is_system_wide |= !record.has_processes() && record.command.empty();
  auto plan = make_plan(record);
  if (!plan)
    return std::move(plan).error();
  if (auto checked = check_view(options.view); !checked)
    return std::move(checked).error();
  bool is_by_time =
      std::ranges::count(options.view.by, Dimension::Kind::kTime, &Dimension::kind) > 0;
  if (is_by_time && options.accumulates)
    return Error("--by time does not work with --accumulate: samples are summed over time")
        .with_hint("leave out --accumulate, and set --window")
        .with_exit_status(kUsage);
  // A window shorter than the interval would never show some samples.
  return TopPlan{*std::move(plan), options.interval_ns,
                 std::max(options.window_ns, options.interval_ns)};
}

bool is_shown_in_browser(const TopOptions& options) {
  return !options.is_batch && is_browsed(options.view.view) &&
         browser_terminal() == BrowserTerminal::kFound;
}

// One profile after the other while the recording goes on.
class Profiles {
public:
  Profiles(LiveRecording& recording, const TopOptions& options, const TopPlan& plan)
      : recording_(recording), options_(options), plan_(plan) {}

  // The profile at a time of CLOCK_MONOTONIC, or at the end if that comes before. Null: there
  // is none behind the last. Valid until the next call.
  Result<Profile*> next(uint64_t time) {
    if (is_last())
      return nullptr;
    // The end is asked before the profile is made: the last profile has the last samples.
    is_over_ = !recording_.wait_until(time);
    count_++;
    // Accumulated, each profile has only what is new, and is added to the sum; else it is of
    // the whole window.
    auto named =
        options_.accumulates ? recording_.new_samples() : recording_.profile(plan_.window_ns);
    if (!named)
      return std::move(named).error();
    // It has nothing to tell: creators are not asked for.
    apply({.leaves_out_idle = true,
           .keeps_wrappers = options_.keeps_wrappers,
           .selection = is_shown_in_browser(options_) ? nullptr : &options_.selection},
          named->profile);
    if (!options_.accumulates) {
      last_ = std::move(named->profile);
      return &last_;
    }
    sum_.add(named->profile);
    return &sum_.profile();
  }

  // The recording has ended, or there were as many as were asked for.
  bool is_last() const { return is_over_ || (options_.count != 0 && count_ == options_.count); }

  void reset() {
    recording_.reset();
    sum_ = AccumulatedProfile();
  }

  uint64_t shortened_samples() const { return sum_.shortened_samples(); }

private:
  LiveRecording& recording_;
  const TopOptions& options_;
  const TopPlan& plan_;
  size_t count_ = 0;
  bool is_over_ = false;
  Profile last_;
  AccumulatedProfile sum_;
};

std::string text_of(Profile& profile, const ViewOptions& view) {
  if (profile.samples.empty())
    return fmt::format("no samples in the last {:.1f} s\n", to_seconds(profile.duration_ns));
  return written_by(write_events, profile, *find_format("text"), view);
}

// False: nobody reads it any more.
bool print_report(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0;
}

// One at each interval, and the last at the end. What naming has taken longer for is not caught
// up with.
Result<> print_reports(Profiles& profiles, const ViewOptions& view, uint64_t interval) {
  uint64_t due = monotonic_ns();
  for (bool is_first = true;; is_first = false) {
    // A report that took longer than the interval delays the next ones, and none is made twice.
    due = std::max(due + interval, monotonic_ns());
    auto profile = profiles.next(due);
    if (!profile)
      return std::move(profile).error();
    if (!*profile || !print_report((is_first ? "" : "\n") + text_of(**profile, view)))
      return Ok{};
  }
}

Result<> browse_live(LiveRecording& recording, Profiles& profiles, const TopOptions& options,
                     const TopPlan& plan) {
  // Debug files of code that is looked at; without progress, which would be written over the
  // screen.
  auto files = find_debug_files(options.debug, nullptr);
  if (!files)
    return std::move(files).error();
  std::mutex mutex;  // the browser's thread that loads is not that of its keys
  browser::Source source;
  source.interval = plan.interval_ns;
  source.load = [&]() -> Result<browser::Source::Loaded> {
    std::lock_guard lock(mutex);
    // A time that has been: the profile is made at once, for the browser itself waits from one
    // to the next (`interval`).
    auto profile = profiles.next(0);
    if (!profile)
      return std::move(profile).error();
    // It is not null: after the last the browser does not ask again.
    return browser::Source::Loaded{browser::by_event(**profile), profiles.is_last()};
  };
  source.find_code = [&](const Profile& profile, std::span<const SampleCount> samples,
                         const ChosenKey& function) {
    return find_sampled_code(profile, samples, function, *files);
  };
  source.reset = [&] {
    std::lock_guard lock(mutex);
    profiles.reset();
  };
  source.save = [&]() -> Result<std::string> {
    std::lock_guard lock(mutex);
    std::string name = free_file_name("raw");
    if (auto saved = recording.save(plan.window_ns, name); !saved)
      return std::move(saved).error();
    return name;
  };
  auto status = browser::browse(std::move(source), export_profile, edit,
                                initial_state("gosym top", options.view, options.selection),
                                wants_colour(options.colour));
  if (!status)
    return std::move(status).error();
  return Ok{};
}

Result<> show(LiveRecording& recording, const TopOptions& options, const TopPlan& plan) {
  Profiles profiles(recording, options, plan);
  ViewOptions view = options.view;
  view.is_verbose = options.record.is_verbose;
  view.screen.has_colour = options.colour == ColourMode::kAlways;
  auto shown = is_shown_in_browser(options) ? browse_live(recording, profiles, options, plan)
                                            : print_reports(profiles, view, plan.interval_ns);
  if (uint64_t count = profiles.shortened_samples(); count > 0)
    warn(options.record, "{} samples were counted without their callers or threads: too many",
         with_commas(count));
  return shown;
}

// An accumulated profile is not told apart by time.
GroupBy group_by_of_top(const TopOptions& options, const TopPlan& plan) {
  if (!is_shown_in_browser(options))
    return group_by_of(options.view, plan.window_ns);
  GroupBy group_by = group_by_for_browser(plan.window_ns);
  if (options.accumulates)
    group_by.time_step = 0;
  return group_by;
}

Result<int> top(TopOptions& options) {
  raise_file_limit();
  UniqueFd parent = open_parent();
  Keeper keeper;
  auto plan = make_top_plan(options);
  if (!plan)
    return std::move(plan).error();
  auto files = find_debug_files(options.debug, options.record.is_quiet ? nullptr : stderr);
  if (!files)
    return std::move(files).error();
  options.record.output = "-";  // standard output is ours, and not the command's
  if (is_shown_in_browser(options))
    choose_character_set();  // before there are threads
  // The command would write over the browser's screen.
  options.record.is_terminal_taken = is_shown_in_browser(options);
  auto targets = open_targets(options.record, plan->record.sampler.scope);
  if (!targets)
    return std::move(targets).error();
  plan->record.sampler.scope = targets->scope;

  auto sampler = open_sampler(plan->record, options.record, keeper);
  if (!sampler)
    return std::move(sampler).error();
  // The sampler stays at its place when `recording` becomes its owner.
  const Sampler& opened = **sampler;
  NameForm form = options.name_form.value_or(NameForm::kShort);
  LiveRecording recording({.sampler = plan->record.sampler,
                           .archive = plan->record.archive,
                           .window = plan->window_ns,
                           .group_by = group_by_of_top(options, *plan),
                           .names = {.go = form, .native = form}},
                          *std::move(sampler), *std::move(files));
  auto watch = open_watch(std::move(parent), *targets);
  if (!watch)
    return std::move(watch).error();
  // Confined as `record` is, before it looks at anything of others. But it names functions
  // itself, by files that may lie anywhere: no paths to read are named, and so all may be. The
  // browser saves and exports here, --save where it says: nothing else may be written.
  std::vector<std::string> written = {"."};
  if (!options.save.empty())
    written.push_back(options.save.find('/') == options.save.npos
                          ? "."
                          : std::filesystem::path(options.save).parent_path().string());
  if (auto confined = confine_recorder(*targets, keeper, {.written = written}); !confined)
    return std::move(confined).error();
  if (auto started = recording.start(); !started)
    return std::move(started).error();
  tell_start(opened, recording.info(), options.record);
  if (auto begun = start_watch(*watch, *targets, plan->record.duration_ns); !begun)
    return std::move(begun).error();
  HeldCommand* command = targets->command ? &*targets->command : nullptr;

  recording.run(*watch);
  // The recording has a thread of its own while reports are shown.
  auto shown = show(recording, options, *plan);
  recording.stop();
  auto stop = recording.finish();
  if (!stop)
    return give_up(std::move(stop).error(), command, *watch, options.record);
  // The command is waited for, and asked to end, though showing may have failed.
  int status = command ? end_command(*stop, *command, *watch, options.record) : kSuccess;
  if (!shown)
    return std::move(shown).error();
  print_warnings(recording.summary(), *stop, recording.info(), options.record);
  if (!options.save.empty()) {
    if (auto saved = recording.save(plan->window_ns, options.save); !saved)
      return std::move(saved).error();
    if (!options.record.is_quiet)
      print(stderr, "saved the last of it -> {}\nnext: gosym report {}\n",
            printable(options.save), shell_quoted(as_operand(options.save)));
  }
  return status;
}

// Without what is accepted for those who are used to perf's recorder.
OptionGroup sampling_options_of_top(RecordOptions& options) {
  OptionGroup group = sampling_options(options);
  // Options without `take` have no effect.
  std::erase_if(group.options, [](const Option& option) { return !option.take.parse; });
  return group;
}

// In `top` a short name is what it is in `record`.
OptionGroup by_long_names(OptionGroup group) {
  for (Option& option : group.options) {
    std::vector<std::string> names;
    for (std::string_view name : split(option.names, ','))
      if (name.starts_with("--"))
        names.emplace_back(name);
    option.names = joined(names, ",");
  }
  return group;
}

OptionGroup output_options_of_top(TopOptions& options) {
  return {"When, and what is written",
          {{.names = "--interval",
            .value = "TIME",
            .help = "Update after this time, such as 1s, 500ms (default: 2s)",
            .take = into(options.interval_ns, parse_interval),
            .likely = {"500ms", "1s", "2s"}},
           {.names = "--window",
            .value = "TIME",
            .help = "Show this much time, up to now (default: 10s)",
            .take = into(options.window_ns, parse_interval),
            .likely = {"10s", "30s", "1m"}},
           {.names = "--accumulate",
            .help = "Show all since the start",
            .take = into(options.accumulates),
            .excludes = {"--window"}},
           {.names = "-b,--batch",
            .help = "Print one report after another, as into a pipe",
            .take = into(options.is_batch)},
           {.names = "-n,--iterations",
            .value = "COUNT",
            .help = "Stop after N reports; 0 is unlimited (default: 0)",
            .take = into(options.count, parse_count)},
           duration_option(options.record),
           {.names = "--save",
            .value = "FILE",
            .help = "At the end, write the last window as a recording",
            .take = into(options.save, parse_given)},
           archive_option(options.record),
           archive_data_option(options.record.archived_data),
           colour_option(options.colour),
           {.names = "-v,--verbose",
            .help = "Print more detail",
            .take = into(options.record.is_verbose),
            .excludes = {"--quiet"}},
           {.names = "-q,--quiet",
            .help = "Print no warnings and no notes",
            .take = into(options.record.is_quiet)}}};
}

std::vector<OptionGroup> top_options(TopOptions& options) {
  return {target_options(options.record),
          sampling_options_of_top(options.record),
          by_long_names(view_options(options.view)),
          by_long_names(selection_options(options.selection)),
          {"How to name functions",
           {name_option(options.name_form),
            {.names = "--wrappers",
             .help = "Keep the wrapper functions that Go's own tracebacks leave out",
             .take = into(options.keeps_wrappers)}}},
          debug_options(options.debug),
          output_options_of_top(options)};
}

}  // namespace

Command make_top() {
  auto options = std::make_shared<TopOptions>();
  return {.name = "top",
          .summary = "Show what uses the CPU now",
          .usage =
              "[OPTIONS] [-p PID|NAME | -t TID | -u USER | --cgroup PATH | -a | [--] "
              "COMMAND [ARG...]]",
          .groups = top_options(*options),
          .examples =
              "  gosym top                            the whole system, until Ctrl-C\n"
              "  gosym top -p 4242 --window 30s       a process, its last 30 seconds\n"
              "  gosym top -p nginx --by thread       whoever runs nginx, by thread\n"
              "  gosym top -- make -j8                a command, until it has ended\n"
              "  gosym top -b -n 1 -p 4242 | mail -s busy root   one report\n"
              "  gosym top -a --save spike.raw        then: gosym report spike.raw\n",
          .words = &options->record.command,
          .foreign_words = words_for_top(),
          .run = [options] { return top(*options); }};
}

}  // namespace gosym
