#include "commands/record.h"

#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_tree.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/foreign_words.h"
#include "commands/option_values.h"
#include "commands/record_health.h"
#include "commands/record_options.h"
#include "commands/record_output.h"
#include "goroutine/wall_sampler.h"
#include "proc/cgroups.h"
#include "raw/messages.h"
#include "record/files/file_helper.h"
#include "record/helper_process.h"
#include "record/recorder.h"
#include "record/rights.h"
#include "record/target.h"
#include "record/watch.h"

namespace gosym {

namespace {

// A line on the terminal that is written anew each second.
class Progress {
public:
  // A command has the terminal to itself.
  explicit Progress(const RecordOptions& options)
      : is_shown_(!options.is_quiet && options.command.empty() && isatty(STDERR_FILENO)) {}

  void show(const Recorder& recorder) {
    uint64_t seconds = (monotonic_ns() - start_) / 1'000'000'000;
    if (!is_shown_ || seconds == shown_seconds_)
      return;
    shown_seconds_ = seconds;
    print(stderr, "\rrecording: {} s, {} ", seconds,
          count_text(recorder.counts().samples, "sample"));
  }
  void erase() const {
    if (is_shown_)
      print(stderr, "\r\033[K");
  }

private:
  bool is_shown_;
  uint64_t start_ = monotonic_ns();
  uint64_t shown_seconds_ = 0;
};

Result<Stop> record_until_stopped(Recorder& recorder, RecordOutput& output,
                                  RecordHealth& health, Watch& watch,
                                  const RecordOptions& options) {
  Progress progress(options);
  while (true) {
    // None after 50 ms at the latest: there may be something to collect, or somebody asks.
    std::optional<Stop> stop = watch.wait(recorder);
    // After a stop, too: what was sampled until then is still in the buffers.
    if (auto collected = recorder.collect(); !collected)
      return std::move(collected).error();
    progress.show(recorder);
    // A new file is begun only now: what was collected belongs to the one before.
    if (auto gone_on = output.step(recorder, watch.take_request()); !gone_on)
      return std::move(gone_on).error();
    health.step(recorder, output.file_count());
    if (!stop)
      continue;
    progress.erase();
    if (auto ended = output.end(recorder); !ended)
      return std::move(ended).error();
    health.tell_end(recorder, output.file_count());
    return *stop;
  }
}

// Skipped ticks are told where they are many: the percentage is 0 else (RecordingStats).
// `whereabouts` is what RecordOutput::finish() says.
void print_summary(const Recorder::Summary& summary, const RecordOptions& options,
                   const std::string& whereabouts) {
  if (options.is_quiet)
    return;
  print(stderr, "recorded {} of {} {} in {:.1f} s, {} lost{}, {}\n",
        count_text(summary.samples, "sample"), with_commas(summary.process_count),
        summary.process_count == 1 ? "process" : "processes", to_seconds(summary.duration_ns),
        with_commas(summary.lost_samples),
        summary.skipped_percent == 0
            ? ""
            : fmt::format(", {} skipped", with_commas(summary.skipped)),
        whereabouts);
  if (summary.archived > 0)
    print(stderr, "archived {} {} in {}{}\n", summary.archived,
          summary.archived == 1 ? "file" : "files",
          options.rotate.empty() && options.last.empty() ? "it" : "the directory",
          options.archive == ArchiveMode::kAll ? "; debug files that lie apart are not kept"
                                               : "");
  // A hint at the next command, where there is one file that it can be given.
  if (summary.samples > 0 && options.output != "-" && !options.runs)
    print(stderr, "next: gosym report{}{}\n", options.output == kDefaultOutput ? "" : " ",
          options.output == kDefaultOutput ? "" : shell_quoted(as_operand(options.output)));
}

// Says why recording stopped unless the user stopped it.
void tell_stop(Stop stop, const RecordOptions& options) {
  if (stop == Stop::kParentGone)
    warn(options,
         "stopped: the program that started gosym has ended (nohup keeps gosym running)");
  else if (stop == Stop::kSize && !options.is_quiet)
    print(stderr, "gosym: stopped: the file has reached --max-size\n");
}

// All that a recorder opens by a path itself: of processes, CPUs, cgroups and its own symbols.
ReachablePaths told_by_kernel() {
  ReachablePaths paths{.read = {"/proc", "/sys"}};
  if (auto mount = proc::cgroup_mount())
    paths.read.push_back(*std::move(mount));
  return paths;
}

Result<int> record(const RecordOptions& options) {
  raise_file_limit();  // each process that is named takes a descriptor
  // First of all: if the parent ends before it is watched, its number may be another's.
  UniqueFd parent = open_parent();

  // Choose what to record and how, then whom. All that the user may have got wrong is found
  // before anything is written; a command is started, and held before its first instruction.
  Keeper keeper;
  auto plan = make_plan(options);
  if (!plan)
    return std::move(plan).error();
  auto output = RecordOutput::prepare(options, *plan);
  if (!output)
    return std::move(output).error();
  auto targets = open_targets(options, plan->sampler.scope);
  if (!targets)
    return std::move(targets).error();
  plan->sampler.scope = targets->scope;

  // BPF where the kernel lets us, else perf events. The file is created only once a sampler is
  // open, so that a failure leaves an older recording as it was. Who asks for the end while it
  // is made gets a recording that ends in order.
  auto sampler = open_sampler(*plan, options, keeper);
  if (!sampler)
    return std::move(sampler).error();
  RecordingInfo info = info_of(plan->sampler, **sampler);
  HeldSignals held;
  // Before the recording, which sets an older one aside: a wrong path changes nothing.
  RecordHealth health(options);
  if (auto opened = health.open(); !opened)
    return std::move(opened).error();
  if (auto created = output->create(info); !created)
    return std::move(created).error();
  auto watch = open_watch(std::move(parent), *targets);
  if (!watch)
    return std::move(watch).error();
  held.release();
  Recorder recorder(plan->sampler, **sampler, output->sink(), plan->archive,
                    plan->max_size == 0 ? UINT64_MAX : plan->max_size);

  // Before files are looked at: those that lie there are the host's, and not kept.
  set_host_root(options.host_root ? *options.host_root : find_host_root());

  // From here on files of strangers are read: with no rights. The command was made before, and
  // keeps those of the user.
  if (auto confined = confine_recorder(*targets, keeper, told_by_kernel()); !confined)
    return std::move(confined).error();

  // Events are collected before the processes that run already are listed, or a mapping made in
  // between would be missed; only then is the command let go, and does the time count.
  if (auto started = recorder.start(); !started)
    return std::move(started).error();
  tell_start(**sampler, info, options);
  if (auto begun = start_watch(*watch, *targets, plan->duration_ns); !begun)
    return std::move(begun).error();
  health.tell_ready();
  HeldCommand* command = targets->command ? &*targets->command : nullptr;
  if (plan->max_size != 0)
    watch->stop_at_size(plan->max_size);

  // If recording fails from here on, what was written is kept, and the command not left alone.
  auto stop = record_until_stopped(recorder, *output, health, *watch, options);
  if (!stop)
    return give_up(std::move(stop).error(), command, *watch, options);
  if (auto finished = recorder.finish(); !finished)
    return give_up(std::move(finished).error(), command, *watch, options);

  // The status is the command's own, as of perf and time; where that is 0, ours.
  tell_stop(*stop, options);
  Recorder::Summary summary = recorder.summary();
  print_warnings(summary, *stop, info, options);
  print_summary(summary, options, output->finish(summary));
  int status = command ? end_command(*stop, *command, *watch, options) : kSuccess;
  bool has_lost_too_much = loss_percent(recorder.stats()) > plan->max_loss;
  bool is_partial = has_lost_too_much || is_unusable(summary);
  return status == kSuccess && is_partial ? kPartial : status;
}

}  // namespace

Command make_record() {
  auto options = std::make_shared<RecordOptions>();
  return {
      .name = "record",
      .summary = "Record samples of running code into a file",
      .usage =
          "[OPTIONS] -p PID|NAME | -t TID | -u USER | --cgroup PATH | -a | [--] COMMAND "
          "[ARG...]",
      .groups = record_options(*options),
      .examples =
          "  gosym record -p 4242 -d 10s          a running process, for 10 seconds\n"
          "  gosym record -p nginx                all that run nginx, until Ctrl-C\n"
          "  gosym record -p 4242 sleep 10        as with perf: until 'sleep 10' has ended\n"
          "  gosym record -- ./server --dev       a command, from start to end\n"
          "  gosym record --runs 5 -o old -- ./x.test -test.bench .   each run for itself\n"
          "  gosym record -a -F 999 -d 5s         the whole system, 999 times a second\n"
          "  gosym record -a -F 19 --rotate 60s --keep 24h -o /var/lib/gosym/   always on\n"
          "  gosym record --cgroup system.slice/nginx.service -d 30s\n"
          "  gosym record -p 4242 -e page-faults -c 1   where each page fault comes from\n"
          "  gosym record -p 4242 -e cpu-clock,page-faults/period=100/   both at once\n"
          "\nExit status: 0 done, 1 failed, 2 wrong usage, 4 a right or a kernel feature is\n"
          "missing, 5 no such process; 3 the recording is incomplete: the disk is full,\n"
          "more was lost than --max-loss allows, or what was lost leaves most samples\n"
          "without names. A command's own status, if it is not 0, is given instead of 0.\n",
      .words = &options->command,
      .foreign_words = words_for_record(),
      .run = [options] {
        // None without --runs, and in the process of a run: that records.
        auto ended = record_runs(*options);
        return ended ? *std::move(ended) : record(*options);
      }};
}

namespace {

// The kernel ends the perf events of whoever executes such a file, as it would show what it is.
bool may_not_be_read(const std::string& command) {
  auto file = find_executable(command);
  return file && access(file->c_str(), R_OK) != 0;
}

// A CPU that works has cycles, by whatever period they are sampled: with a period measure_of()
// would not take them for time, so it is told 0, which is none.
bool counts_cycles(const RecordedEvent& event) {
  return measure_of(event.name, 0, event.unit) == Measure::kCpuTime;
}

std::string why_no_samples(const Recorder::Summary& summary, Stop stop,
                           const RecordingInfo& info, const RecordOptions& options) {
  // It takes a tenth of a second to make all ready. One that lived for longer was idle.
  constexpr uint64_t kAtOnce = 1'000'000'000;
  if (stop == Stop::kTargetsGone && summary.duration_ns < kAtOnce)
    return fmt::format("what was to be recorded has ended {:.1f} s after the recording began",
                       to_seconds(summary.duration_ns));
  // From reasons that are certain to guesses: the last lines are for who had every other
  // chance.
  bool is_of_command = !options.command.empty() && !options.has_stop_watch();
  if (is_of_command && may_not_be_read(options.command.front()))
    return "a program that its user may not read is sampled for root only, by BPF";
  // The event wall is the last of several, and so the first only where it is alone.
  if (info.events.front().measure == Measure::kGoroutineTime)
    return "no goroutines were seen; does it run Go code?";
  std::vector<std::string> counted;
  for (const RecordedEvent& event : info.events)
    if (!measures_cpu_time(event) && !counts_cycles(event))
      counted.push_back(event.name);
  if (counted.size() == info.events.size())
    return fmt::format("{} did not occur, or not often enough", joined(counted, " and "));
  if (info.sampler == "perf" && summary.charged_ns > 0)
    return fmt::format(
        "the threads used {:.3f} s of CPU time, but each ended before its first tick, and "
        "perf_event counts for each anew; try a higher --freq, or --sampler bpf",
        to_seconds(summary.charged_ns));
  return is_of_command ? "the command used too little CPU; try a higher --freq"
                       : "what was recorded did not use the CPU; is it idle?";
}

}  // namespace

bool is_unusable(const Recorder::Summary& summary) {
  return summary.lost_events > 0 && summary.unplaced > summary.samples / 2;
}

void print_warnings(const Recorder::Summary& summary, Stop stop, const RecordingInfo& info,
                    const RecordOptions& options) {
  // Losses come first, then code that will have no names, and last why nothing is there.
  if (summary.lost_samples > 0)
    warn(options, "{} of {} samples lost: try a lower --freq, or --call-graph fp",
         with_commas(summary.lost_samples),
         with_commas(summary.samples + summary.lost_samples));
  if (summary.skipped_percent > 0)
    warn(options, "{} of {} ticks ({:.1f} %) gave no sample: {}", with_commas(summary.skipped),
         with_commas(summary.due_ticks), summary.skipped_percent, why_skipped(info));
  if (summary.excess_ns > 0)
    warn(options,
         "the samples stand for {:.2f} s more than the {:.2f} s that the kernel charged",
         to_seconds(summary.excess_ns), to_seconds(summary.charged_ns));
  if (summary.lost_events > 0)
    warn(options, "{} events lost: some functions will be unnamed",
         with_commas(summary.lost_events));
  if (is_unusable(summary))
    warn(options, "this recording cannot be used: the mappings of {} of {} samples were lost",
         with_commas(summary.unplaced), with_commas(summary.samples));
  if (summary.hung_looks > 0)
    warn(options,
         "{} files, memory maps or memories of processes not read: they did not answer in time",
         with_commas(summary.hung_looks));
  if (summary.refused_events > 0 && options.is_verbose)
    warn(options, "{} mappings not recorded: their programs map code without pause",
         with_commas(summary.refused_events));
  if (summary.unfollowed > 0)
    warn(options, "{} child processes not sampled: too many started at once",
         with_commas(summary.unfollowed));
  if (summary.untracked > 0)
    warn(options, "waits of {} threads not sampled: there are too many threads",
         with_commas(summary.untracked));
  if (summary.unreadable > 0)
    warn(options,
         "the mappings of {} sampled {} cannot be read: their functions will be unnamed",
         summary.unreadable, summary.unreadable == 1 ? "process" : "processes");
  if (summary.shortened_stacks > 0)
    warn(options, "{} samples have stacks of more than {} frames: their middle is left out",
         with_commas(summary.shortened_stacks), with_commas(raw::kMaxStackSize));
  if (summary.costly_stacks > 0)
    warn(options, "{} stacks of goroutines are cut, as they take too much to read each time",
         with_commas(summary.costly_stacks));
  if (summary.shortened_texts > 0)
    warn(options,
         "{} samples have labels or states of more than {} bytes, which end with \"...\", or "
         "more than {} labels",
         with_commas(summary.shortened_texts), raw::kMaxLabelText, raw::kMaxLabels);
  for (const std::string& problem : summary.perf_map_problems)
    warn(options, "{}", problem);
  if (!summary.archive_problems.empty())
    warn(options, "{} {} not archived, or not whole: {}", summary.archive_problems.size(),
         summary.archive_problems.size() == 1 ? "file" : "files",
         summary.archive_problems.front());
  if (!summary.unknown_go_versions.empty())
    warn(options,
         "unknown Go runtime {}: no goroutine ids or labels; stacks may stop in C code",
         printable(joined(summary.unknown_go_versions, ", ")));
  if (summary.lacks_kernel_symbols)
    warn(options, "kernel functions will have no names: /proc/kallsyms hides addresses ({})",
         why_kernel_symbols_are_hidden());
  if (summary.samples == 0)
    warn(options, "no samples: {}", why_no_samples(summary, stop, info, options));
}

void tell_start(const Sampler& sampler, const RecordingInfo& info,
                const RecordOptions& options) {
  if (std::string shortcomings = sampler.shortcomings(); !shortcomings.empty())
    warn(options, "{}", shortcomings);
  if (!options.is_verbose)
    return;
  std::vector<std::string> events;
  for (const RecordedEvent& event : info.events)
    events.push_back(event_text(event));
  print(stderr, "gosym: sampling {} on {} CPUs\n", joined(events, " and "), info.cpu_count);
}

namespace {

Error no_permission(std::string_view processes) {
  return errorf("no permission to look into {}", processes)
      .with_hint(
          "run with sudo: gosym's file capabilities cover only your own processes and -a")
      .with_exit_status(kUnsupported);
}

Result<> add_process(uint32_t pid, Targets& targets) {
  auto process = open_process(pid);
  if (!process)
    return std::move(process).error();
  // Rights that gosym's file has (setcap) must not show its user the processes of others. A
  // gosym without them asks the kernel, and the sampler tells what is missing.
  if (has_rights_of_file() && !may_look_into(pid))
    return no_permission(fmt::format("process {}", pid));
  targets.processes.push_back(*std::move(process));
  return Ok{};
}

// Adds the processes that were found, but for those that have ended since or are not the
// user's. `which` is, say, "named 'nginx'".
Result<> add_found(const std::string& which, const std::vector<uint32_t>& found,
                   const RecordOptions& options, Targets& targets) {
  std::vector<std::string> added;
  size_t refused = 0;
  for (uint32_t pid : found) {
    // Processes of others are left out, not refused, as long as there is one that may be
    // looked into.
    if (!may_look_into(pid)) {
      refused++;
    } else if (auto process = open_process(pid)) {
      targets.scope.pids.push_back(pid);
      targets.processes.push_back(*std::move(process));
      added.push_back(std::to_string(pid));
    }
  }
  constexpr size_t kMaxListed = 10;
  if (added.empty() && refused > 0)
    return no_permission(fmt::format("the processes {}", which));
  if (added.empty())
    return errorf("no process {}", which)
        .with_hint(options.user.empty()
                       ? "to start a program: gosym record -- ./program"
                       : "-u is of processes that run already; -a records those of all users")
        .with_exit_status(kNoTarget);
  if (refused > 0)
    warn(options, "{} of {} processes {} left out: no permission to look into them", refused,
         refused + added.size(), which);
  if (!options.is_quiet)
    print(stderr, "recording {} {} {}{}\n", added.size(),
          added.size() == 1 ? "process" : "processes", which,
          added.size() > kMaxListed ? "" : ": " + joined(added, ", "));
  return Ok{};
}

Result<> find_processes(const RecordOptions& options, Targets& targets) {
  // -p takes names as well as numbers; --comm takes names that are numbers, too. Numbers are in
  // the scope already (set_scope()).
  std::vector<std::string> names = options.comms;
  for (const std::string& process : options.processes)
    if (!parse_decimal(process))
      names.push_back(process);
  for (const std::string& name : names)
    if (auto added = add_found(fmt::format("named '{}'", printable(name)),
                               processes_named(name), options, targets);
        !added)
      return added;
  if (options.user.empty())
    return Ok{};
  auto user = find_user(options.user);
  if (!user)
    return std::move(user).error();
  return add_found(fmt::format("of user '{}'", printable(options.user)),
                   processes_of_user(*user), options, targets);
}

Result<> start_command(const RecordOptions& options, Targets& targets) {
  // A recording on standard output would be mixed with what the command writes there.
  bool is_output_taken = options.output == "-";
  // The standard output of the command; kNoTerminal: the browser of `top` has its terminal.
  int output = options.is_terminal_taken ? HeldCommand::kNoTerminal
               : is_output_taken         ? STDERR_FILENO
                                         : STDOUT_FILENO;
  auto held = HeldCommand::start(options.command, output);
  if (!held) {
    // --off-cpu takes no value but behind its =, so the next word is the command's.
    const std::string& word = options.command.front();
    bool is_threshold = options.off_cpu && options.off_cpu->empty() && parse_duration(word);
    Error error = std::move(held).error();
    if (!is_threshold)
      return error;
    return std::move(error).with_hint(
        fmt::format("for a threshold of {0} write --off-cpu={0}", printable(word)));
  }
  targets.command = *std::move(held);
  if (!options.has_stop_watch())
    targets.scope.pids.push_back(targets.command->pid());
  return Ok{};
}

}  // namespace

Result<Targets> open_targets(const RecordOptions& options, const Scope& scope) {
  Targets targets;
  targets.scope = scope;
  for (const std::string& name : options.cgroups) {
    auto path = find_cgroup(name);
    if (!path)
      return std::move(path).error();
    targets.scope.cgroups.push_back(*std::move(path));
  }
  for (uint32_t pid : targets.scope.pids)
    if (auto added = add_process(pid, targets); !added)
      return std::move(added).error();
  for (uint32_t tid : targets.scope.tids) {
    auto process = process_of_thread(tid);
    if (!process)
      return std::move(process).error();
    if (auto added = add_process(*process, targets); !added)
      return std::move(added).error();
  }
  if (auto found = find_processes(options, targets); !found)
    return std::move(found).error();
  // The command is started last, held before its first instruction: whatever fails before,
  // fails without it.
  if (!options.command.empty())
    if (auto started = start_command(options, targets); !started)
      return std::move(started).error();
  return targets;
}

Result<std::unique_ptr<Sampler>> open_sampler(const RecordPlan& plan,
                                              const RecordOptions& options, Keeper& keeper) {
  if (!options.is_verbose)
    libbpf_set_print(nullptr);
  // WallSampler puts its samples to those of the sampler that it is given; null: goroutines
  // alone.
  std::unique_ptr<Sampler> sampler;
  if (!plan.is_wall_only) {
    auto opened = Sampler::open(plan.sampler, keeper);
    if (!opened)
      return std::move(opened).error().context("cannot record");
    sampler = *std::move(opened);
  }
  if (plan.wall_frequency == 0)
    return sampler;
  // A command has not begun yet: its Go code is looked for later. Any seed will do.
  return WallSampler::open(std::move(sampler), {.pids = plan.sampler.scope.pids,
                                                .frequency = plan.wall_frequency,
                                                .seed = monotonic_ns(),
                                                .may_begin_later = !options.command.empty()});
}

Result<> confine_recorder(Targets& targets, Keeper& keeper, const ReachablePaths& paths) {
  // No program that is executed from here on gains rights. The keeper and the starter of
  // helpers begin with those that they keep; at last this process may only read `paths`.
  forbid_new_privileges();
  if (auto started = keeper.start(targets.command ? targets.command->end_fd() : -1); !started)
    return started;
  if (targets.command)
    targets.command->signal_by(keeper);
  if (auto made = make_helper_starter(); !made)
    return made;
  enter(ProcessKind::kRecorder, paths);
  return Ok{};
}

Result<Watch> open_watch(UniqueFd parent, Targets& targets) {
  HeldCommand* command = targets.command ? &*targets.command : nullptr;
  return Watch::open(std::move(parent), std::move(targets.processes), command);
}

Result<> start_watch(Watch& watch, Targets& targets, uint64_t duration_ns) {
  if (targets.command)
    if (auto released = targets.command->release(); !released)
      return released;
  if (duration_ns != 0)
    watch.stop_at(monotonic_ns() + duration_ns);
  return Ok{};
}

int end_command(Stop stop, const HeldCommand& command, Watch& watch,
                const RecordOptions& options) {
  // A command that a signal ended has 128 and its number as status, as in a shell.
  int no_failure = options.has_stop_watch() ? 128 + SIGINT : kSuccess;
  // The recording has ended before the command: it is asked to end, and that is not its
  // failure.
  if (stop != Stop::kCommandGone) {
    no_failure = 128 + SIGTERM;
    command.send(SIGTERM);
    // A person who does not wait (kAbort), or a parent that ends meanwhile, leaves the command
    // to its SIGTERM.
    if (stop == Stop::kAbort || watch.wait_for_command() != Stop::kCommandGone)
      return kInterrupted;
  }
  int status = command.wait();
  return status == no_failure ? kSuccess : status;
}

Error give_up(Error error, const HeldCommand* command, Watch& watch,
              const RecordOptions& options) {
  if (command && options.has_stop_watch()) {
    command->send(SIGTERM);
  } else if (command) {
    warn(options, "the recording has ended, the command goes on: {}", error.message());
    watch.wait_for_command();
  }
  return error;
}

namespace {

Result<> check_runs(const RecordOptions& options) {
  auto wrong = [](std::string message) {
    return Error(std::move(message))
        .with_hint("gosym record --runs 5 -o before -- ./server.test -test.bench .")
        .with_exit_status(kUsage);
  };
  if (options.command.empty())
    return wrong("--runs: there is no command to run");
  if (!options.has_output || options.output == "-")
    return wrong("--runs: into which directory? name it with -o");
  return Ok{};
}

// Recordings of another time would be taken for runs of this one.
Result<> make_directory(const std::string& path) {
  std::error_code error;
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    return system_error(fmt::format("'{}'", printable(path)), errno);
  auto first = std::filesystem::directory_iterator(path, error);
  if (error)
    return system_error(fmt::format("'{}'", printable(path)), error.value());
  if (first != std::filesystem::directory_iterator())
    return errorf("'{}': this directory is not empty", printable(path))
        .with_hint(
            "--runs writes 1.raw, 2.raw, ... into a new directory, or one without files");
  return Ok{};
}

// From when it is made until it ends signals wait to be taken, and the end of a child is one.
class Signals {
public:
  Signals() {
    sigemptyset(&taken_);
    sigaddset(&taken_, SIGCHLD);
    // A blocked signal comes even if it is ignored, as those of nohup and of a background job
    // are, which end neither a run nor this.
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
      if (!is_ignored(signal))
        sigaddset(&taken_, signal);
    sigprocmask(SIG_BLOCK, &taken_, &before_);
  }
  ~Signals() { let_go(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void let_go() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  // Waits until the child has ended: its status as waitpid(2) has it. What comes meanwhile, and
  // the terminal has not sent to the child as well, is passed on to it.
  int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, WNOHANG) != child) {
      siginfo_t info = {};
      if (sigwaitinfo(&taken_, &info) <= 0 || info.si_signo == SIGCHLD)
        continue;
      ended_by_ = info.si_signo;
      // SI_KERNEL: a key of the terminal, which the whole foreground group has got.
      if (info.si_code != SI_KERNEL)
        kill(child, info.si_signo);
    }
    return status;
  }
  // 0: none.
  int ended_by() const { return ended_by_; }

private:
  sigset_t taken_ = {};
  sigset_t before_ = {};
  int ended_by_ = 0;
};

}  // namespace

std::optional<Result<int>> record_runs(RecordOptions& options) {
  if (!options.runs)
    return {};
  if (auto checked = check_runs(options); !checked)
    return std::move(checked).error();
  std::string directory = options.output;
  if (auto made = make_directory(directory); !made)
    return std::move(made).error();
  Signals signals;
  for (uint32_t run = 1; run <= *options.runs; run++) {
    if (!options.is_quiet)
      print(stderr, "run {} of {}\n", run, *options.runs);
    // A run is a process of its own, for a recorder gives up its rights and cannot begin again.
    // The child goes on as `record` without --runs.
    pid_t pid = fork();
    if (pid < 0)
      return system_error("cannot start a run", errno);
    if (pid == 0) {
      signals.let_go();
      options.output = fmt::format("{}/{}.raw", directory, run);
      return {};
    }
    int code = exit_status_of(signals.wait_for(pid));
    // A run that ended well because of Ctrl-C is not followed by the next.
    if (signals.ended_by() != 0 && code == kSuccess)
      code = 128 + signals.ended_by();
    if (code == kSuccess)
      continue;
    if (!options.is_quiet && run < *options.runs)
      print(stderr, "gosym: run {} of {} ended with status {}: the others are left out\n", run,
            *options.runs, code);
    return code;
  }
  if (!options.is_quiet)
    print(stderr, "next: the same of another version, then gosym diff --per run {} OTHER\n",
          shell_quoted(as_operand(directory)));
  return Result<int>(kSuccess);
}

}  // namespace gosym
