#include "commands/record_options.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "commands/loss_option.h"
#include "commands/option_checks.h"
#include "proc/cpus.h"
#include "proc/setting.h"

namespace gosym {

namespace {

Error usage_error(std::string message) {
  return Error(std::move(message))
      .with_hint("see 'gosym record --help'")
      .with_exit_status(kUsage);
}

Result<> check_scope(const RecordOptions& options) {
  if (!options.command.empty() && options.command.front().starts_with('-'))
    return usage_error(fmt::format("unknown option '{}'", printable(options.command.front())));
  std::vector<std::string_view> kinds;
  for (auto [is_given, name] : {std::pair(!options.pids.empty(), "-p PID"),
                                {!options.tids.empty(), "-t TID"},
                                {!options.cgroups.empty(), "--cgroup"},
                                {options.is_system_wide, "-a"},
                                {!options.command.empty(), "a command"}})
    if (is_given)
      kinds.push_back(name);
  if (kinds.empty() && options.cpus.empty())
    return Error("nothing to record: no -p PID, no -a, no command")
        .with_hint("record a process: gosym record -p PID, or a command: gosym record -- CMD")
        .with_exit_status(kUsage);
  if (kinds.size() < 2)
    return Ok{};
  Error error = usage_error(fmt::format("{} exclude one another", fmt::join(kinds, " and ")));
  if (!options.command.empty())
    error = std::move(error).with_hint(
        "to record for a time, as perf does with 'sleep 10': -d 10s");
  return error;
}

Result<> check_rest(const RecordOptions& options) {
  if (options.is_user_only && options.is_kernel_only)
    return usage_error("-U and -K exclude one another");
  if (options.output == "-" && !options.command.empty())
    return usage_error("-o -: standard output is the command's; name a file");
  if (options.output == "-" && isatty(STDOUT_FILENO) != 0)
    return usage_error("-o -: a recording is not for a terminal");
  return Ok{};
}

// The kernel refuses more than this; it lowers the number itself when sampling takes too much
// of its time.
uint64_t max_frequency() {
  return parse_decimal(proc::setting("/proc/sys/kernel/perf_event_max_sample_rate"))
      .value_or(UINT64_MAX);
}

Result<uint64_t> parse_frequency(const RecordOptions& options) {
  constexpr uint64_t kMaxFrequency = 1'000'000;
  uint64_t limit = max_frequency();
  if (options.frequency == "max")
    return std::min(limit, kMaxFrequency);
  auto frequency = parse_decimal(options.frequency);
  if (!frequency || *frequency == 0 || *frequency > kMaxFrequency)
    return usage_error(fmt::format("--freq: '{}' is not between 1 and {}",
                                   printable(options.frequency), with_commas(kMaxFrequency)));
  if (*frequency > limit)
    warn(options, "sampling at {} Hz, not {}: kernel.perf_event_max_sample_rate allows no more",
         with_commas(limit), with_commas(*frequency));
  return std::min(limit, *frequency);
}

Result<uint64_t> parse_period(const RecordOptions& options, bool is_clock) {
  constexpr uint64_t kMinClockPeriod = 10'000;  // of Linux's clocks, in nanoseconds
  auto period = parse_decimal(options.period);
  if (!period || *period == 0 || *period > INT64_MAX)
    return usage_error(
        fmt::format("--count: '{}' is not a number of events", printable(options.period)));
  if (!is_clock || *period >= kMinClockPeriod)
    return *period;
  warn(options, "sampling each {} ns, not {}: the kernel's clocks allow no less",
       with_commas(kMinClockPeriod), with_commas(*period));
  return kMinClockPeriod;
}

Result<> set_rate(const RecordOptions& options, SamplerOptions& sampler) {
  if (!options.event.empty()) {
    auto event = parse_event_type(options.event);
    if (!event)
      return std::move(event).error();
    sampler.event = *std::move(event);
  }
  auto frequency = parse_frequency(options);
  if (!frequency)
    return std::move(frequency).error();
  sampler.frequency = *frequency;
  if (options.period.empty())
    return Ok{};
  if (!sampler.event)
    return usage_error("--count: of which events? name them with -e");
  auto period = parse_period(options, measures_time(sampler.event->name, 1));
  if (!period)
    return std::move(period).error();
  sampler.period = *period;
  return Ok{};
}

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
Result<> set_call_graph(const std::string& text, SamplerOptions& sampler) {
  constexpr uint64_t kMinSize = 1024;
  size_t comma = text.find(',');
  auto mode = parse_stack_mode(text.substr(0, comma));
  if (!mode)
    return std::move(mode).error();
  sampler.stack_mode = *mode;
  if (comma == std::string::npos)
    return Ok{};
  if (*mode == StackMode::kFramePointers)
    return usage_error("--call-graph: fp takes no size");
  std::string size = text.substr(comma + 1);
  auto bytes = parse_decimal(size);
  if (!bytes || *bytes < kMinSize || *bytes > kMaxTopSize)
    return usage_error(fmt::format("--call-graph: size '{}' is not between {} and {}",
                                   printable(size), kMinSize, kMaxTopSize));
  sampler.stack_size = static_cast<uint32_t>(*bytes / 8 * 8);
  return Ok{};
}

ArchiveMode archive_mode(std::string_view text) {
  if (text == "none")
    return ArchiveMode::kNone;
  return text == "all" ? ArchiveMode::kAll : ArchiveMode::kAuto;
}

Result<SamplerKind> parse_sampler(std::string_view text) {
  if (text == "auto")
    return SamplerKind::kAuto;
  if (text == "bpf")
    return SamplerKind::kBpf;
  if (text == "perf")
    return SamplerKind::kPerf;
  return usage_error(fmt::format("--sampler: '{}' is not auto, bpf or perf", printable(text)));
}

Result<> set_scope(const RecordOptions& options, Scope& scope) {
  scope.pids = options.pids;
  scope.tids = options.tids;
  scope.follows_children = !options.leaves_children && options.tids.empty();
  bool has_targets = !options.pids.empty() || !options.tids.empty() ||
                     !options.cgroups.empty() || !options.command.empty();
  scope.is_system_wide = !has_targets;
  if (options.cpus.empty())
    return Ok{};
  auto cpus = proc::parse_cpu_list(options.cpus);
  if (!cpus)
    return usage_error(fmt::format("--cpu: {}", cpus.error().message()));
  scope.cpus = *std::move(cpus);
  for (uint32_t cpu : scope.cpus)
    if (std::vector<uint32_t> there = proc::possible_cpus();
        std::ranges::find(there, cpu) == there.end())
      return usage_error(
          fmt::format("--cpu: there is no CPU {}, only 0 to {}", cpu, there.back()));
  return Ok{};
}

Result<> set_limits(const RecordOptions& options, RecordPlan& plan) {
  if (!options.duration.empty()) {
    plan.duration_ns = parse_duration(options.duration).value_or(0);
    if (plan.duration_ns == 0)
      return usage_error(fmt::format("--duration: '{}' is not a time such as 10s, 1.5s or 2m",
                                     printable(options.duration)));
  }
  if (!options.max_size.empty()) {
    plan.max_size = parse_size(options.max_size).value_or(0);
    if (plan.max_size == 0)
      return usage_error(fmt::format("--max-size: '{}' is not a size such as 500K, 10M or 2G",
                                     printable(options.max_size)));
  }
  plan.max_loss = *parse_loss(options.max_loss);
  return Ok{};
}

}  // namespace

Result<RecordPlan> make_plan(const RecordOptions& options) {
  RecordPlan plan;
  SamplerOptions& sampler = plan.sampler;
  plan.archive = archive_mode(options.archive);
  sampler.has_user = !options.is_kernel_only;
  sampler.has_kernel = !options.is_user_only;
  for (auto done : {check_scope(options), check_rest(options)})
    if (!done)
      return std::move(done).error();
  if (auto set = set_scope(options, sampler.scope); !set)
    return std::move(set).error();
  auto kind = parse_sampler(options.sampler);
  if (!kind)
    return std::move(kind).error();
  sampler.kind = *kind;
  if (auto set = set_rate(options, sampler); !set)
    return std::move(set).error();
  if (auto set = set_limits(options, plan); !set)
    return std::move(set).error();
  if (auto set = set_call_graph(options.call_graph, sampler); !set)
    return std::move(set).error();
  return plan;
}

void add_target_options(CLI::App& app, RecordOptions& options) {
  app.add_option("-p,--pid", options.pids, "Record these processes and their future children")
      ->check(check_id("process"), "")
      ->type_name("PID[,PID]")
      ->delimiter(',');
  app.add_option("-t,--tid", options.tids, "Record these threads alone")
      ->check(check_id("thread"), "")
      ->type_name("TID[,TID]")
      ->delimiter(',');
  app.add_option("--cgroup", options.cgroups,
                 "Record what runs in this cgroup (v2) and those below it; may be repeated")
      ->allow_extra_args(false)
      ->check(check_given, "")
      ->type_name("PATH");
  app.add_flag("-a,--all", options.is_system_wide, "Record all processes");
  app.add_option("-C,--cpu", options.cpus, "Only what runs on these CPUs: 0-3,6")
      ->check(check_given, "")
      ->type_name("CPUS");
  app.add_flag("--no-inherit", options.leaves_children, "Leave out children of the processes");
}

void add_rate_options(CLI::App& app, RecordOptions& options) {
  app.add_option("-e,--event", options.event,
                 "Sample by this event: cpu-clock, page-faults, instructions, ... (cycles, or "
                 "else cpu-clock)")
      ->check(check_given, "")
      ->type_name("NAME");
  CLI::Option* frequency = app.add_option("-F,--freq", options.frequency,
                                          "Samples a second of CPU time, or max (99)")
                               ->type_name("HZ");
  app.add_option("-c,--count", options.period, "A sample each N events, not by time")
      ->excludes(frequency)
      ->check(check_given, "")
      ->type_name("N");
}

void add_record_options(CLI::App& app, RecordOptions& options) {
  add_target_options(app, options);
  add_rate_options(app, options);
  app.add_option("-d,--duration", options.duration, "Stop after this time: 10s, 1.5s, 2m")
      ->check(check_given, "")
      ->type_name("TIME");
  app.add_option("--max-size", options.max_size, "Stop when the file is that large: 500K, 10M")
      ->check(check_given, "")
      ->type_name("SIZE");
  add_loss_option(app, options.max_loss);
  app.add_option("-o,--output", options.output, "File to write, - for stdout (cpu.raw)")
      ->type_name("FILE");
  app.add_flag("-U,--user-only", options.is_user_only, "Leave out what the kernel does");
  app.add_flag("-K,--kernel-only", options.is_kernel_only, "Leave out user code");
  app.add_option("--call-graph", options.call_graph,
                 "How callers are found: fp, auto or dwarf (auto), in SIZE bytes (16384)")
      ->type_name("MODE[,SIZE]");
  app.add_option("--archive", options.archive,
                 "Files to keep in the recording: auto, those that will be gone; all; none")
      ->check(CLI::IsMember({"auto", "all", "none"}))
      ->type_name("WHICH");
  app.add_option("--sampler", options.sampler,
                 "What takes the samples: bpf, perf, or auto: what is allowed (auto)")
      ->type_name("NAME");
  // perf needs it for them.
  app.add_flag("-g")->description("Nothing: stacks are always taken");
  CLI::Option* verbose = app.add_flag("-v,--verbose", options.is_verbose, "Tell more");
  app.add_flag("-q,--quiet", options.is_quiet, "Tell nothing but errors")->excludes(verbose);
}

}  // namespace gosym
