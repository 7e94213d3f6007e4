#include <bpf/libbpf.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/id_check.h"
#include "record/recorder.h"
#include "record/rights.h"
#include "record/target.h"
#include "record/watch.h"

namespace gosym {

namespace {

constexpr const char* kDefaultOutput = "cpu.raw";

struct Options {
  std::vector<uint32_t> pids;
  std::vector<std::string> command;
  bool is_system_wide = false;
  int64_t frequency = 99;
  std::string duration;
  std::string call_graph = "auto";
  std::string archive = "auto";
  std::string output = kDefaultOutput;
  bool is_user_only = false;
  bool is_kernel_only = false;
  bool leaves_children = false;
  bool is_verbose = false;
  bool is_quiet = false;
};

template <class... Args>
void warn(const Options& options, fmt::format_string<Args...> format, Args&&... args) {
  if (!options.is_quiet)
    print(stderr, "gosym: warning: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

Error usage_error(std::string message) {
  return Error(std::move(message))
      .with_hint("see 'gosym record --help'")
      .with_exit_status(kUsage);
}

Result<> check(const Options& options) {
  if (!options.command.empty() && options.command.front().starts_with('-'))
    return usage_error(fmt::format("unknown option '{}'", printable(options.command.front())));
  int kinds = !options.pids.empty() + !options.command.empty() + options.is_system_wide;
  if (kinds == 0)
    return Error("nothing to record: no -p PID, no -a, no command")
        .with_hint("record a process: gosym record -p PID, or a command: gosym record -- CMD")
        .with_exit_status(kUsage);
  if (kinds > 1)
    return options.command.empty()
               ? usage_error("-p PID and -a exclude one another")
               : usage_error("-p PID, -a and a command exclude one another")
                     .with_hint("to record for a time, as perf does with 'sleep 10': -d 10s");
  if (options.is_user_only && options.is_kernel_only)
    return usage_error("-U and -K exclude one another");
  if (options.output == "-" && !options.command.empty())
    return usage_error("-o -: standard output is the command's; name a file");
  if (options.output == "-" && isatty(STDOUT_FILENO) != 0)
    return usage_error("-o -: a recording is not for a terminal");
  constexpr int64_t kMaxFrequency = 1'000'000;
  if (options.frequency <= 0 || options.frequency > kMaxFrequency)
    return usage_error(fmt::format("--freq: '{}' is not between 1 and {}", options.frequency,
                                   with_commas(kMaxFrequency)));
  return Ok{};
}

constexpr uint64_t kNoLimit = UINT64_MAX;

Result<uint64_t> parse_limit(const std::string& duration) {
  if (duration.empty())
    return kNoLimit;
  auto parsed = parse_duration(duration);
  if (!parsed || *parsed == 0)
    return usage_error(fmt::format("--duration: '{}' is not a time such as 10s, 1.5s or 2m",
                                   printable(duration)));
  return *parsed;
}

// The kernel refuses more than this; it lowers the number itself when sampling takes too much
// of its time.
uint64_t clamp_frequency(const Options& options) {
  auto text = read_file("/proc/sys/kernel/perf_event_max_sample_rate", 4096);
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  auto frequency = static_cast<uint64_t>(options.frequency);
  uint64_t limit = parse_decimal(take_line(rest)).value_or(frequency);
  if (frequency <= limit)
    return frequency;
  warn(options, "sampling at {} Hz, not {}: kernel.perf_event_max_sample_rate allows no more",
       with_commas(limit), with_commas(frequency));
  return limit;
}

struct CallGraph {
  StackMode mode{};
  uint32_t stack_size = 0;
};

Result<StackMode> parse_stack_mode(std::string_view text) {
  if (text == "fp")
    return StackMode::kFramePointers;
  if (text == "auto")
    return StackMode::kAuto;
  if (text == "dwarf")
    return StackMode::kWords;
  return usage_error(
      fmt::format("--call-graph: '{}' is not fp, auto or dwarf", printable(text)));
}

// "auto", "dwarf,8192"
Result<CallGraph> parse_call_graph(const std::string& text) {
  constexpr uint64_t kMinSize = 1024;
  size_t comma = text.find(',');
  auto mode = parse_stack_mode(text.substr(0, comma));
  if (!mode)
    return std::move(mode).error();
  if (comma == std::string::npos)
    return CallGraph{*mode, kDefaultStackSize};
  if (*mode == StackMode::kFramePointers)
    return usage_error("--call-graph: fp takes no size");
  std::string size = text.substr(comma + 1);
  auto bytes = parse_decimal(size);
  if (!bytes || *bytes < kMinSize || *bytes > kMaxTopSize)
    return usage_error(fmt::format("--call-graph: size '{}' is not between {} and {}",
                                   printable(size), kMinSize, kMaxTopSize));
  return CallGraph{*mode, static_cast<uint32_t>(*bytes / 8 * 8)};
}

SamplerOptions sampler_options(const Options& options, const CallGraph& call_graph,
                               std::vector<uint32_t> pids) {
  return {
      .scope = {.is_system_wide = options.is_system_wide,
                .pids = std::move(pids),
                .follows_children = !options.leaves_children},
      .frequency = clamp_frequency(options),
      .has_user = !options.is_kernel_only,
      .has_kernel = !options.is_user_only,
      .stack_mode = call_graph.mode,
      .stack_size = call_graph.stack_size,
  };
}

ArchiveMode archive_mode(std::string_view text) {
  if (text == "none")
    return ArchiveMode::kNone;
  return text == "all" ? ArchiveMode::kAll : ArchiveMode::kAuto;
}

// What is to be sampled, and how its end is noticed.
struct Targets {
  std::vector<uint32_t> pids;
  std::vector<UniqueFd> processes;     // of the same order; readable once one has ended
  std::optional<HeldCommand> command;  // the last of them, if we started it
};

Result<> add_process(uint32_t pid, Targets& targets) {
  auto process = open_process(pid);
  if (!process)
    return std::move(process).error();
  targets.pids.push_back(pid);
  targets.processes.push_back(*std::move(process));
  return Ok{};
}

Result<Targets> open_targets(const Options& options) {
  Targets targets;
  for (uint32_t pid : options.pids)
    if (auto added = add_process(pid, targets); !added)
      return std::move(added).error();
  if (options.command.empty())
    return targets;
  auto held = HeldCommand::start(options.command);
  if (!held)
    return std::move(held).error();
  targets.command = *std::move(held);
  if (auto added = add_process(targets.command->pid(), targets); !added)
    return std::move(added).error();
  return targets;
}

// A line on the terminal that is written anew each second.
class Progress {
public:
  explicit Progress(const Options& options)
      : is_shown_(!options.is_quiet && options.command.empty() && isatty(STDERR_FILENO)) {}

  void show(const Recorder& recorder) {
    uint64_t seconds = (monotonic_ns() - start_) / 1'000'000'000;
    if (!is_shown_ || seconds == shown_seconds_)
      return;
    shown_seconds_ = seconds;
    print(stderr, "\rrecording: {} s, {} samples ", seconds,
          with_commas(recorder.sampler().counters().stored));
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

Result<Stop> record_until_stopped(Recorder& recorder, Watch& watch, const Options& options) {
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

void print_warnings(const Recorder::Summary& summary, const Options& options) {
  if (summary.lost_samples > 0)
    warn(options, "{} of {} samples lost: try a lower --freq, or --call-graph fp",
         with_commas(summary.lost_samples),
         with_commas(summary.samples + summary.lost_samples));
  if (summary.lost_events > 0)
    warn(options, "{} events lost: some functions will have no names",
         with_commas(summary.lost_events));
  if (summary.unfollowed > 0)
    warn(options, "{} child processes not sampled: too many at once",
         with_commas(summary.unfollowed));
  if (summary.unreadable > 0)
    warn(options, "{} sampled {} may not be looked into: functions will have no names",
         summary.unreadable, summary.unreadable == 1 ? "process" : "processes");
  for (const std::string& problem : summary.perf_map_problems)
    warn(options, "{}", problem);
  if (!summary.unknown_go_versions.empty())
    warn(options, "goroutines are not told, and stacks may end in C code, for programs by {}",
         printable(fmt::format("{}", fmt::join(summary.unknown_go_versions, ", "))));
  if (summary.lacks_kernel_symbols)
    warn(options, "kernel functions will have no names: /proc/kallsyms hides addresses ({})",
         why_kernel_symbols_are_hidden());
  if (summary.samples == 0)
    warn(options, "no samples: {}",
         options.command.empty() ? "what was recorded did not use the CPU; is it idle?"
                                 : "the command used too little CPU; try a higher --freq");
}

void print_summary(const Recorder::Summary& summary, const Options& options) {
  print_warnings(summary, options);
  if (options.is_quiet)
    return;
  print(stderr, "recorded {} {} of {} {} in {:.1f} s, {} lost, {} -> {}\n",
        with_commas(summary.samples), summary.samples == 1 ? "sample" : "samples",
        with_commas(summary.process_count),
        summary.process_count == 1 ? "process" : "processes",
        static_cast<double>(summary.duration_ns) / 1e9, with_commas(summary.lost_samples),
        human_size(summary.file_size),
        options.output == "-" ? "standard output" : printable(options.output));
  if (summary.archived > 0)
    print(stderr, "archived {} {} in it\n", summary.archived,
          summary.archived == 1 ? "file" : "files");
  if (summary.samples > 0 && options.output != "-")
    print(stderr, "next: gosym report{}{}\n", options.output == kDefaultOutput ? "" : " ",
          options.output == kDefaultOutput ? "" : printable(options.output));
}

void tell_start(const Recorder& recorder, const Options& options) {
  const Sampler& sampler = recorder.sampler();
  if (options.is_verbose)
    print(stderr, "gosym: sampling {} at {} Hz on {} CPUs\n", sampler.event(),
          recorder.frequency(), sampler.cpu_count());
}

// The exit status, once the recording is finished. A command that outlives it is asked to end,
// and then its end is our doing and no failure.
int end_command(Stop stop, const HeldCommand& command, Watch& watch) {
  if (stop == Stop::kTargetsGone)
    return command.wait();
  command.send(SIGTERM);
  if (stop == Stop::kAbort || watch.wait_for_command() != Stop::kTargetsGone)
    return kInterrupted;
  int status = command.wait();
  return status == 128 + SIGTERM ? kSuccess : status;
}

// A command does not end because its recording did.
Error give_up(Error error, const HeldCommand* command, Watch& watch, const Options& options) {
  if (command) {
    warn(options, "the recording has ended, the command goes on: {}", error.message());
    watch.wait_for_command();
  }
  return error;
}

Result<int> record(const Options& options) {
  if (auto usable = check(options); !usable)
    return std::move(usable).error();
  auto limit = parse_limit(options.duration);
  if (!limit)
    return std::move(limit).error();
  auto call_graph = parse_call_graph(options.call_graph);
  if (!call_graph)
    return std::move(call_graph).error();
  auto targets = open_targets(options);
  if (!targets)
    return std::move(targets).error();

  if (!options.is_verbose)
    libbpf_set_print(nullptr);
  auto recorder = Recorder::open(sampler_options(options, *call_graph, targets->pids),
                                 archive_mode(options.archive));
  if (!recorder)
    return std::move(recorder).error().context("cannot record");

  if (auto started = (*recorder)->start(options.output); !started)
    return std::move(started).error();
  tell_start(**recorder, options);
  // From here on signals are ours; before, one ends us while an output waits for its reader.
  HeldCommand* command = targets->command ? &*targets->command : nullptr;
  auto watch = Watch::open(std::move(targets->processes), command);
  if (!watch)
    return std::move(watch).error();
  if (command)
    if (auto released = command->release(); !released)
      return std::move(released).error();
  if (*limit != kNoLimit)
    watch->stop_at(monotonic_ns() + *limit);

  auto stop = record_until_stopped(**recorder, *watch, options);
  auto finished = stop ? (*recorder)->finish() : std::move(stop).error();
  if (!finished)
    return give_up(std::move(finished).error(), command, *watch, options);
  print_summary((*recorder)->summary(), options);
  return command ? end_command(*stop, *command, *watch) : kSuccess;
}

// CLI11 knows nothing of the command.
class HelpFormatter : public CLI::Formatter {
public:
  std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
    return fmt::format("Usage: {} [OPTIONS] -p PID | -a | [--] COMMAND [ARG...]\n", name);
  }
};

}  // namespace

Command make_record(CLI::App& root, std::vector<std::string> command) {
  auto options = std::make_shared<Options>();
  options->command = std::move(command);
  CLI::App* app = root.add_subcommand("record", "Sample running code into a file");
  app->formatter(std::make_shared<HelpFormatter>());
  app->add_option("-p,--pid", options->pids, "Record these processes and their future children")
      ->check(check_id("process"), "")
      ->type_name("PID[,PID]")
      ->delimiter(',');
  app->add_flag("-a,--all", options->is_system_wide, "Record all processes");
  app->add_option("-F,--freq", options->frequency, "Samples a second of CPU time (99)")
      ->type_name("HZ");
  app->add_option("-d,--duration", options->duration, "Stop after this time: 10s, 1.5s, 2m")
      ->type_name("TIME");
  app->add_option("-o,--output", options->output, "File to write, - for stdout (cpu.raw)")
      ->type_name("FILE");
  app->add_flag("-U,--user-only", options->is_user_only, "Leave out what the kernel does");
  app->add_flag("-K,--kernel-only", options->is_kernel_only, "Leave out user code");
  app->add_flag("--no-inherit", options->leaves_children,
                "Leave out children of the processes");
  app->add_option("--call-graph", options->call_graph,
                  "How callers are found: fp, auto or dwarf (auto), in SIZE bytes (16384)")
      ->type_name("MODE[,SIZE]");
  app->add_option("--archive", options->archive,
                  "Files to keep in the recording: auto, those that will be gone; all; none")
      ->check(CLI::IsMember({"auto", "all", "none"}))
      ->type_name("WHICH");
  // perf needs it for them.
  app->add_flag("-g")->description("Nothing: stacks are always taken");
  CLI::Option* verbose = app->add_flag("-v,--verbose", options->is_verbose, "Tell more");
  app->add_flag("-q,--quiet", options->is_quiet, "Tell nothing but errors")->excludes(verbose);
  // Without "--", what is no option begins the command, which has all the rest.
  app->prefix_command();
  app->footer(
      "Examples:\n"
      "  gosym record -p 4242 -d 10s      a running process, for 10 seconds\n"
      "  gosym record -p $(pgrep -d, nginx)   until Ctrl-C\n"
      "  gosym record -- ./server --dev   a command, from start to end\n"
      "  gosym record -a -F 999 -d 5s     the whole system, 999 times a second\n");
  return {app, [app, options] {
            if (auto bare = app->remaining(); !bare.empty())
              options->command.swap(bare);
            return record(*options);
          }};
}

}  // namespace gosym
