#include "commands/record_targets.h"

#include <bpf/libbpf.h>

#include <csignal>

#include "base/clock.h"
#include "base/text.h"
#include "goroutine/wall_sampler.h"
#include "record/helper_process.h"
#include "record/privileges.h"
#include "record/rights.h"

namespace gosym {

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
  // Without further rights the sampler tells which are missing.
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
  if (!options.command.empty())
    if (auto started = start_command(options, targets); !started)
      return std::move(started).error();
  return targets;
}

Result<std::unique_ptr<Sampler>> open_sampler(const RecordPlan& plan,
                                              const RecordOptions& options, Keeper& keeper) {
  if (!options.is_verbose)
    libbpf_set_print(nullptr);
  std::unique_ptr<Sampler> sampler;
  if (!plan.is_wall_only) {
    auto opened = Sampler::open(plan.sampler, keeper);
    if (!opened)
      return std::move(opened).error().context("cannot record");
    sampler = *std::move(opened);
  }
  if (plan.wall_frequency == 0)
    return sampler;
  return WallSampler::open(std::move(sampler), {.pids = plan.sampler.scope.pids,
                                                .frequency = plan.wall_frequency,
                                                .seed = monotonic_ns(),
                                                .may_begin_later = !options.command.empty()});
}

Result<> confine_recorder(Targets& targets, Keeper& keeper, const ReachablePaths& paths) {
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

}  // namespace gosym
