#include <bpf/libbpf.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_limit.h"
#include "base/shell.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/loss_option.h"
#include "commands/record_options.h"
#include "record/privileges.h"
#include "record/recorder.h"
#include "record/rights.h"
#include "record/target.h"
#include "record/watch.h"

namespace gosym {

namespace {

// What is to be sampled, and how its end is noticed.
struct Targets {
  Scope scope;
  std::vector<UniqueFd> processes;  // readable once one has ended; but a command's
  std::optional<HeldCommand> command;
};

Error not_yours(std::string_view what) {
  return errorf("{} not yours to look into", what)
      .with_hint("run with sudo: rights of gosym's file are for your own processes, and -a")
      .with_exit_status(kUnsupported);
}

Result<> add_process(uint32_t pid, Targets& targets) {
  auto process = open_process(pid);
  if (!process)
    return std::move(process).error();
  // Who has no more rights than his own is told by the sampler which he lacks.
  if (has_rights_of_file() && !may_look_into(pid))
    return not_yours(fmt::format("process {} is", pid));
  targets.processes.push_back(*std::move(process));
  return Ok{};
}

// Those that were found, but such as have ended since or are not the user's. `which` is, say,
// "named 'nginx'".
Result<> add_found(const std::string& which, const std::vector<uint32_t>& found,
                   const RecordOptions& options, Targets& targets) {
  std::vector<std::string> added;
  size_t refused = 0;
  for (uint32_t pid : found) {
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
    return not_yours(fmt::format("the processes {} are", which));
  if (added.empty())
    return errorf("there is no process {}", which).with_exit_status(kNoTarget);
  if (refused > 0)
    warn(options, "{} of {} processes {} left out: not yours to look into", refused,
         refused + added.size(), which);
  if (!options.is_quiet)
    print(stderr, "recording {} {} {}{}\n", added.size(),
          added.size() == 1 ? "process" : "processes", which,
          added.size() > kMaxListed ? "" : ": " + joined(added, ", "));
  return Ok{};
}

Result<> find_processes(const RecordOptions& options, Targets& targets) {
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
  bool is_output_taken = options.output == "-";
  auto held =
      HeldCommand::start(options.command, is_output_taken ? STDERR_FILENO : STDOUT_FILENO);
  if (!held)
    return std::move(held).error();
  targets.command = *std::move(held);
  if (!options.has_stop_watch())
    targets.scope.pids.push_back(targets.command->pid());
  return Ok{};
}

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
  if (!options.command.empty())
    if (auto started = start_command(options, targets); !started)
      return std::move(started).error();
  return targets;
}

// A line on the terminal that is written anew each second.
class Progress {
public:
  explicit Progress(const RecordOptions& options)
      : is_shown_(!options.is_quiet && options.command.empty() && isatty(STDERR_FILENO)) {}

  void show(const Recorder& recorder) {
    uint64_t seconds = (monotonic_ns() - start_) / 1'000'000'000;
    if (!is_shown_ || seconds == shown_seconds_)
      return;
    shown_seconds_ = seconds;
    print(stderr, "\rrecording: {} s, {} samples ", seconds,
          with_commas(recorder.stats().samples));
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

Result<Stop> record_until_stopped(Recorder& recorder, Watch& watch,
                                  const RecordOptions& options) {
  Progress progress(options);
  while (true) {
    std::optional<Stop> stop = watch.wait(recorder);
    if (auto collected = recorder.collect(); !collected)
      return std::move(collected).error();
    progress.show(recorder);
    if (!stop)
      continue;
    progress.erase();
    return *stop;
  }
}

// The kernel ends the perf events of whoever executes such a file, as it would show what it is.
bool may_not_be_read(const std::string& command) {
  auto file = find_executable(command);
  return file && access(file->c_str(), R_OK) != 0;
}

std::string why_no_samples(const RecordingInfo& info, const RecordOptions& options) {
  bool is_of_command = !options.command.empty() && !options.has_stop_watch();
  if (is_of_command && may_not_be_read(options.command.front()))
    return "a program that its user may not read is sampled for root only, by BPF";
  std::vector<std::string> counted;
  for (const RecordedEvent& event : info.events)
    if (!measures_time(event.name, 0))
      counted.push_back(event.name);
  if (counted.size() == info.events.size())
    return fmt::format("{} did not occur, or not often enough", joined(counted, " and "));
  return is_of_command ? "the command used too little CPU; try a higher --freq"
                       : "what was recorded did not use the CPU; is it idle?";
}

// Most of its samples cannot be named by anybody.
bool is_unusable(const Recorder::Summary& summary) {
  return summary.lost_events > 0 && summary.unplaced > summary.samples / 2;
}

void print_warnings(const Recorder::Summary& summary, const RecordingInfo& info,
                    const RecordOptions& options) {
  if (summary.lost_samples > 0)
    warn(options, "{} of {} samples lost: try a lower --freq, or --call-graph fp",
         with_commas(summary.lost_samples),
         with_commas(summary.samples + summary.lost_samples));
  if (summary.skipped_percent > 0)
    warn(options, "{} of {} ticks ({:.1f} %) gave no sample: {}", with_commas(summary.skipped),
         with_commas(summary.due_ticks), summary.skipped_percent, why_skipped(info));
  if (summary.lost_events > 0)
    warn(options, "{} events lost: some functions will have no names",
         with_commas(summary.lost_events));
  if (is_unusable(summary))
    warn(options,
         "this recording cannot be used: {} of {} samples are of code that lost events told of",
         with_commas(summary.unplaced), with_commas(summary.samples));
  if (summary.hung_looks > 0)
    warn(options, "{} files, or what was mapped, not looked at: they did not answer in time",
         with_commas(summary.hung_looks));
  if (summary.refused_events > 0 && options.is_verbose)
    warn(options, "{} mappings not recorded: of programs that map code all the time",
         with_commas(summary.refused_events));
  if (summary.unfollowed > 0)
    warn(options, "{} child processes not sampled: too many at once",
         with_commas(summary.unfollowed));
  if (summary.unreadable > 0)
    warn(options, "{} sampled {} may not be looked into: functions will have no names",
         summary.unreadable, summary.unreadable == 1 ? "process" : "processes");
  for (const std::string& problem : summary.perf_map_problems)
    warn(options, "{}", problem);
  if (!summary.archive_problems.empty())
    warn(options, "{} {} not archived, or not whole: {}", summary.archive_problems.size(),
         summary.archive_problems.size() == 1 ? "file" : "files",
         summary.archive_problems.front());
  if (!summary.unknown_go_versions.empty())
    warn(options, "goroutines are not told, and stacks may end in C code, for programs by {}",
         printable(joined(summary.unknown_go_versions, ", ")));
  if (summary.lacks_kernel_symbols)
    warn(options, "kernel functions will have no names: /proc/kallsyms hides addresses ({})",
         why_kernel_symbols_are_hidden());
  if (summary.samples == 0)
    warn(options, "no samples: {}", why_no_samples(info, options));
}

void print_summary(const Recorder::Summary& summary, const RecordingInfo& info,
                   const RecordOptions& options) {
  print_warnings(summary, info, options);
  if (options.is_quiet)
    return;
  print(
      stderr, "recorded {} {} of {} {} in {:.1f} s, {} lost{}, {} -> {}\n",
      with_commas(summary.samples), summary.samples == 1 ? "sample" : "samples",
      with_commas(summary.process_count), summary.process_count == 1 ? "process" : "processes",
      static_cast<double>(summary.duration_ns) / 1e9, with_commas(summary.lost_samples),
      summary.skipped_percent == 0 ? ""
                                   : fmt::format(", {} skipped", with_commas(summary.skipped)),
      human_size(summary.file_size),
      options.output == "-" ? "standard output" : printable(options.output));
  if (summary.archived > 0)
    print(stderr, "archived {} {} in it\n", summary.archived,
          summary.archived == 1 ? "file" : "files");
  if (summary.samples > 0 && options.output != "-")
    print(stderr, "next: gosym report{}{}\n", options.output == kDefaultOutput ? "" : " ",
          options.output == kDefaultOutput ? "" : shell_quoted(as_operand(options.output)));
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

// Who did not ask for the end shall know why it came.
void tell_stop(Stop stop, const RecordOptions& options) {
  if (stop == Stop::kParentGone)
    warn(options, "stopped: the program that started gosym has ended; nohup keeps it running");
  else if (stop == Stop::kSize && !options.is_quiet)
    print(stderr, "gosym: stopped: the file has reached --max-size\n");
}

// The exit status, once the recording is finished. A command that outlives it is asked to end,
// and then its end is our doing and no failure; nor is it one that Ctrl-C ends a stop watch.
int end_command(Stop stop, const HeldCommand& command, Watch& watch,
                const RecordOptions& options) {
  int no_failure = options.has_stop_watch() ? 128 + SIGINT : kSuccess;
  if (stop != Stop::kCommandGone) {
    no_failure = 128 + SIGTERM;
    command.send(SIGTERM);
    if (stop == Stop::kAbort || watch.wait_for_command() != Stop::kCommandGone)
      return kInterrupted;
  }
  int status = command.wait();
  return status == no_failure ? kSuccess : status;
}

// A command does not end because its recording did, unless that was what it is for.
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

Result<int> record(const RecordOptions& options) {
  raise_file_limit();  // each process that is named takes a descriptor
  UniqueFd parent = open_parent();
  auto plan = make_plan(options);
  if (!plan)
    return std::move(plan).error();
  auto targets = open_targets(options, plan->sampler.scope);
  if (!targets)
    return std::move(targets).error();
  plan->sampler.scope = targets->scope;

  if (!options.is_verbose)
    libbpf_set_print(nullptr);
  auto sampler = Sampler::open(plan->sampler);
  if (!sampler)
    return std::move(sampler).error().context("cannot record");
  RecordingInfo info = info_of(plan->sampler, **sampler);
  auto writer = raw::Writer::create(options.output, info);
  if (!writer)
    return std::move(writer).error();
  FileSink file(*std::move(writer));
  Recorder recorder(plan->sampler, **sampler, file, plan->archive,
                    plan->max_size == 0 ? UINT64_MAX : plan->max_size);
  // Before it looks at anything of others. The command was made before.
  forbid_new_privileges();
  drop_privileges();
  if (auto started = recorder.start(); !started)
    return std::move(started).error();
  tell_start(**sampler, info, options);
  // From here on signals are ours; before, one ends us while an output waits for its reader.
  HeldCommand* command = targets->command ? &*targets->command : nullptr;
  auto watch = Watch::open(std::move(parent), std::move(targets->processes), command);
  if (!watch)
    return std::move(watch).error();
  if (command)
    if (auto released = command->release(); !released)
      return std::move(released).error();
  if (plan->duration_ns != 0)
    watch->stop_at(monotonic_ns() + plan->duration_ns);
  if (plan->max_size != 0)
    watch->stop_at_size(plan->max_size);

  auto stop = record_until_stopped(recorder, *watch, options);
  auto finished = stop ? recorder.finish() : std::move(stop).error();
  if (!finished)
    return give_up(std::move(finished).error(), command, *watch, options);
  tell_stop(*stop, options);
  Recorder::Summary summary = recorder.summary();
  print_summary(summary, info, options);
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
      .summary = "Sample running code into a file",
      .usage =
          "[OPTIONS] -p PID|NAME | -t TID | -u USER | --cgroup PATH | -a  [[--] COMMAND "
          "[ARG...]]",
      .groups = record_options(*options),
      .examples =
          "  gosym record -p 4242 -d 10s          a running process, for 10 seconds\n"
          "  gosym record -p nginx                all that run nginx, until Ctrl-C\n"
          "  gosym record -p 4242 sleep 10        as with perf: until 'sleep 10' has ended\n"
          "  gosym record -- ./server --dev       a command, from start to end\n"
          "  gosym record -a -F 999 -d 5s         the whole system, 999 times a second\n"
          "  gosym record --cgroup system.slice/nginx.service -d 30s\n"
          "  gosym record -p 4242 -e page-faults -c 1   where each page fault comes from\n"
          "  gosym record -p 4242 -e cpu-clock,page-faults/period=100/   both at once\n"
          "\nExit status: 0 done, 1 failed, 2 wrong usage, 4 a right or a kernel feature is\n"
          "missing, 5 no such process; 3 where not all was written (a full disk), more was\n"
          "lost than --max-loss allows, or what was lost leaves most samples without names.\n",
      .words = &options->command,
      .run = [options] { return record(*options); }};
}

}  // namespace gosym
