#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_limit.h"
#include "base/shell.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/foreign_words.h"
#include "commands/loss_option.h"
#include "commands/record_notes.h"
#include "commands/record_options.h"
#include "commands/record_runs.h"
#include "commands/record_targets.h"
#include "proc/cgroups.h"
#include "record/recorder.h"
#include "record/remover.h"
#include "record/rights.h"
#include "record/target.h"
#include "record/watch.h"

namespace gosym {

namespace {

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
    print(stderr, "\rrecording: {} s, {} ", seconds,
          count_text(recorder.stats().samples, "sample"));
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
    // After a stop, too: what was sampled until then is still in the buffers.
    if (auto collected = recorder.collect(); !collected)
      return std::move(collected).error();
    progress.show(recorder);
    if (!stop)
      continue;
    progress.erase();
    return *stop;
  }
}

// "1.2 MiB -> cpu.raw"
std::string whereabouts(const Recorder::Summary& summary, const RecordOptions& options,
                        raw::Withdrawn withdrawn) {
  std::string name = options.output == "-" ? "standard output" : printable(options.output);
  if (withdrawn == raw::Withdrawn::kNot)
    return fmt::format("{} -> {}", human_size(summary.file_size), name);
  return withdrawn == raw::Withdrawn::kRemoved
             ? fmt::format("{} is not kept", name)
             : fmt::format("not kept: {} is the recording before again", name);
}

void print_summary(const Recorder::Summary& summary, const RecordOptions& options,
                   raw::Withdrawn withdrawn) {
  if (options.is_quiet)
    return;
  print(stderr, "recorded {} of {} {} in {:.1f} s, {} lost{}, {}\n",
        count_text(summary.samples, "sample"), with_commas(summary.process_count),
        summary.process_count == 1 ? "process" : "processes",
        static_cast<double>(summary.duration_ns) / 1e9, with_commas(summary.lost_samples),
        summary.skipped_percent == 0
            ? ""
            : fmt::format(", {} skipped", with_commas(summary.skipped)),
        whereabouts(summary, options, withdrawn));
  if (summary.archived > 0)
    print(stderr, "archived {} {} in it{}\n", summary.archived,
          summary.archived == 1 ? "file" : "files",
          options.archive == "all" ? "; debug files that lie apart are not kept" : "");
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
  auto writer = raw::Writer::create(options.output, info);
  if (!writer)
    return std::move(writer).error();
  Remover remover;
  if (auto started = remover.start(options.output, (*writer)->output()); !started)
    return std::move(started).error();
  FileSink file(*std::move(writer));
  auto watch = open_watch(std::move(parent), *targets);
  if (!watch)
    return std::move(watch).error();
  held.release();
  Recorder recorder(plan->sampler, **sampler, file, plan->archive,
                    plan->max_size == 0 ? UINT64_MAX : plan->max_size);

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
  HeldCommand* command = targets->command ? &*targets->command : nullptr;
  if (plan->max_size != 0)
    watch->stop_at_size(plan->max_size);

  // If recording fails from here on, what was written is kept, and the command not left alone.
  auto stop = record_until_stopped(recorder, *watch, options);
  if (!stop)
    return give_up(std::move(stop).error(), command, *watch, options);
  if (auto finished = recorder.finish(); !finished)
    return give_up(std::move(finished).error(), command, *watch, options);

  // The status is the command's own, as of perf and time; where that is 0, ours.
  tell_stop(*stop, options);
  Recorder::Summary summary = recorder.summary();
  print_warnings(summary, *stop, info, options);
  print_summary(summary, options,
                summary.samples == 0 ? remover.remove() : raw::Withdrawn::kNot);
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
        auto ended = record_runs(*options);
        return ended ? *std::move(ended) : record(*options);
      }};
}

}  // namespace gosym
