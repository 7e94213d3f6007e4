#include "commands/record_options.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "commands/debug_options.h"
#include "commands/option_values.h"
#include "goroutine/wall_sampler.h"
#include "proc/process.h"
#include "record/event_type.h"

namespace gosym {

// An option takes its text, or a value that can be checked by itself. make_plan() parses the
// others, whose meaning depends on further options: a rate on the event that it is of, an
// event on the processes. All that is wrong is an error of usage, and is found before anything
// is opened.

namespace {

Error usage_error(std::string message) {
  return Error(std::move(message))
      .with_hint("see 'gosym record --help'")
      .with_exit_status(kUsage);
}

Result<> check_scope(const RecordOptions& options) {
  // No command begins with '-': behind "--" stands an option that was meant for gosym.
  if (!options.command.empty() && options.command.front().starts_with('-'))
    return usage_error(fmt::format("unknown option '{}'", printable(options.command.front())));
  std::vector<std::string> kinds;
  bool has_processes = !options.processes.empty() || !options.comms.empty();
  for (auto [is_given, name] : {std::pair(has_processes, "-p PID"),
                                {!options.tids.empty(), "-t TID"},
                                {!options.user.empty(), "-u USER"},
                                {!options.cgroups.empty(), "--cgroup"},
                                {options.is_system_wide, "-a"}})
    if (is_given)
      kinds.emplace_back(name);
  if (kinds.empty() && options.cpus.empty() && options.command.empty())
    return Error("nothing to record: name a process (-p PID), a command, or -a")
        .with_hint("record a process: gosym record -p PID, or a command: gosym record -- CMD")
        .with_exit_status(kUsage);
  // A command is no kind: beside one of them it is a stop watch (has_stop_watch()). CPUs narrow
  // any kind, and alone mean all that runs on them (set_scope()).
  if (kinds.size() < 2)
    return Ok{};
  return usage_error(fmt::format("{} exclude one another", joined(kinds, " and ")));
}

Result<> check_rest(const RecordOptions& options) {
  if (options.is_user_only && options.is_kernel_only)
    return usage_error("-U and -K exclude one another");
  // A recording in the command's own output could not be told from it.
  if (options.output == "-" && !options.command.empty() && !options.has_stop_watch())
    return usage_error("-o -: standard output is the command's; name a file");
  if (options.output == "-" && isatty(STDOUT_FILENO) != 0)
    return usage_error("-o -: a recording is not for a terminal");
  return Ok{};
}

// A tick of the clock with a deep stack takes up to 25 us on a slow virtual machine. Where that
// is all the time until the next tick, nothing else runs any more: at 100,000 Hz, which Linux
// allows as a rule, its watchdog told of CPUs that were stuck for minutes. The kernel bounds
// the time that ticks of hardware counters take, but not that of its clocks.
constexpr uint64_t kHighestRate = 10'000;

// The kernel refuses more than its own limit; it lowers that itself when sampling by hardware
// counters takes too much of its time.
uint64_t max_frequency() {
  return std::min(parse_decimal(proc::setting("/proc/sys/kernel/perf_event_max_sample_rate"))
                      .value_or(kHighestRate),
                  kHighestRate);
}

Result<uint64_t> parse_frequency(const std::string& text, const RecordOptions& options) {
  constexpr uint64_t kMaxFrequency = 1'000'000;
  constexpr uint64_t kDefault = 99;
  uint64_t limit = max_frequency();
  // No option and "max" fit what the kernel allows, without a word.
  if (text == "max" || text.empty())
    return text.empty() ? std::min(limit, kDefault) : limit;
  auto frequency = parse_decimal(text);
  if (!frequency || *frequency == 0 || *frequency > kMaxFrequency)
    return usage_error(fmt::format("--freq: '{}' is not a whole number from 1 to {}",
                                   printable(text), with_commas(kMaxFrequency)));
  // Rates up to kMaxFrequency are understood, as in perf, and lowered to the limit.
  if (*frequency > limit)
    warn(options, "sampling at {} Hz, not {}: {}", with_commas(limit), with_commas(*frequency),
         limit < kHighestRate ? "kernel.perf_event_max_sample_rate allows no more"
                              : "more leaves programs no time to run");
  return std::min(limit, *frequency);
}

Result<uint64_t> parse_period(const std::string& text, bool is_clock,
                              const RecordOptions& options) {
  // An event of a clock is a nanosecond, so that a period bounds the rate.
  constexpr uint64_t kMinClockPeriod = 1'000'000'000 / kHighestRate;  // in nanoseconds
  auto period = parse_decimal(text);
  if (!period || *period == 0 || *period > INT64_MAX)
    return usage_error(fmt::format("--count: '{}' is not a number of events", printable(text)));
  if (!is_clock || *period >= kMinClockPeriod)
    return *period;
  warn(options, "sampling each {} ns, not {}: less leaves programs no time to run",
       with_commas(kMinClockPeriod), with_commas(*period));
  return kMinClockPeriod;
}

bool is_clock(const EventType& event) {
  return measure_of(event.name, 1, "") == Measure::kClock;
}

Result<> check_threshold(std::string_view text, uint64_t threshold) {
  if (threshold <= kMaxWaitThreshold)
    return Ok{};
  return usage_error(fmt::format("'{}' is longer than a second", printable(text)));
}

// Parses a term that perf allows behind the name of an event, between slashes: "period=100".
Result<> set_own_rate(std::string_view term, const RecordOptions& options, EventType& event) {
  size_t equals = term.find('=');
  std::string_view key = term.substr(0, equals);
  std::string value(equals == term.npos ? "" : term.substr(equals + 1));
  // The period of off-cpu is its threshold in nanoseconds; a wait has no frequency.
  bool is_off_cpu = event.source == EventSource::kOffCpu;
  if (value.empty() || (key != "period" && (key != "freq" || is_off_cpu)))
    return usage_error(fmt::format("--event: '{}' is not period=N{}", printable(term),
                                   is_off_cpu ? "" : " or freq=N"));
  auto rate = key == "period" ? parse_period(value, is_clock(event), options)
                              : parse_frequency(value, options);
  if (!rate)
    return std::move(rate).error();
  (key == "period" ? event.period : event.frequency) = *rate;
  return is_off_cpu ? check_threshold(value, *rate) : Ok{};
}

// "cpu-clock", "page-faults/period=100/"
struct EventOption {
  std::string name;
  std::string term;  // between the slashes; empty: there are none
};

Result<EventOption> parse_event_option(const std::string& text) {
  size_t slash = text.find('/');
  if (slash == text.npos)
    return EventOption{text, ""};
  std::string term = text.substr(slash + 1);
  if (term.size() < 2 || term.back() != '/')
    return usage_error(fmt::format("--event: '{}' is not NAME/period=N/", printable(text)));
  term.pop_back();
  return EventOption{text.substr(0, slash), term};
}

Result<> set_events(const RecordOptions& options, SamplerOptions& sampler) {
  // Names and terms go side by side: the events that are parsed have the order of their names.
  std::vector<std::string> names;
  std::vector<std::string> terms;
  for (const std::string& text : options.events) {
    auto event = parse_event_option(text);
    if (!event)
      return std::move(event).error();
    // set_wall() takes care of it: the kernel's samplers do not know this event.
    if (event->name == kWallEvent)
      continue;
    names.push_back(event->name);
    terms.push_back(event->term);
  }
  // One event for each name, in their order.
  auto events = parse_event_types(names);
  if (!events)
    return std::move(events).error();
  sampler.events = *std::move(events);
  // Rates come last: a period is bounded for the events that are clocks, which is known by
  // now.
  for (size_t i = 0; i < terms.size(); i++)
    if (!terms[i].empty())
      if (auto set = set_own_rate(terms[i], options, sampler.events[i]); !set)
        return set;
  return Ok{};
}

// Adds --off-cpu to the events that are sampled: without others to CPU time.
Result<> add_off_cpu(const std::string& text, SamplerOptions& sampler) {
  uint64_t threshold = kDefaultWaitThreshold;
  if (!text.empty()) {
    auto time = parse_duration(text);
    if (!time)
      return usage_error(
          fmt::format("--off-cpu: '{}' is not a time such as 10ms or 1us", printable(text)));
    // A threshold of 0 takes every wait, but a period of 0 would mean that none is given.
    threshold = std::max<uint64_t>(*time, 1);
  }
  if (auto checked = check_threshold(text, threshold); !checked)
    return checked;
  std::vector<EventType>& events = sampler.events;
  if (events.empty())
    events.emplace_back();
  // The last threshold counts, as with all options that are given twice.
  std::erase_if(events,
                [](const EventType& event) { return event.source == EventSource::kOffCpu; });
  events.push_back(off_cpu(threshold));
  if (events.size() <= kMaxEventTypes)
    return Ok{};
  return usage_error(fmt::format("--off-cpu: more than {} events", kMaxEventTypes));
}

// The event wall among those of -e.
struct WallOfEvents {
  size_t count = 0;
  std::string frequency;  // its own, as "wall/freq=50/" says; empty: none
};

Result<WallOfEvents> find_wall(const RecordOptions& options) {
  constexpr std::string_view kFrequency = "freq=";
  WallOfEvents wall;
  for (const std::string& text : options.events) {
    auto event = parse_event_option(text);
    if (!event)
      return std::move(event).error();
    if (event->name != kWallEvent)
      continue;
    wall.count++;
    if (event->term.empty())
      continue;
    if (!event->term.starts_with(kFrequency) || event->term == kFrequency)
      return usage_error(fmt::format("--event: '{}' is not freq=N", printable(event->term)));
    wall.frequency = event->term.substr(kFrequency.size());
  }
  return wall;
}

// Goroutines are read and not sampled by the kernel: it has no such event.
Result<> set_wall(const RecordOptions& options, RecordPlan& plan) {
  // More would leave a look less than a millisecond.
  constexpr uint64_t kMaxFrequency = 1000;
  auto named = find_wall(options);
  if (!named)
    return std::move(named).error();
  if (!options.wall && named->count == 0)
    return Ok{};
  // The processes to look at have to be known: those that are named, or the command's.
  bool is_of_command = !options.command.empty() && !options.has_stop_watch();
  if (!is_of_command && options.processes.empty() && options.comms.empty() &&
      options.user.empty())
    return usage_error("wall: of which processes? name them (-p PID), or a command");
  // The sampler of the kernel's events is not needed then.
  plan.is_wall_only =
      named->count > 0 && named->count == options.events.size() && !options.off_cpu;
  // Alone it is the event whose rate -F is.
  bool has_own = options.wall && !options.wall->empty();
  std::string text = has_own ? *options.wall : plan.is_wall_only ? options.frequency : "";
  if (!named->frequency.empty())
    text = named->frequency;
  auto frequency = text.empty()    ? WallOptions().frequency
                   : text == "max" ? kMaxFrequency
                                   : parse_decimal(text);
  if (!frequency || *frequency == 0 || *frequency > kMaxFrequency)
    return usage_error(fmt::format("{}: '{}' is not between 1 and {} looks a second",
                                   !named->frequency.empty() ? "--event"
                                   : has_own                 ? "--wall"
                                                             : "--freq",
                                   printable(text), with_commas(kMaxFrequency)));
  plan.wall_frequency = *frequency;
  // Stacks of goroutines are read from their memory, where the kernel has no frames.
  if (plan.is_wall_only)
    plan.sampler.has_kernel = false;
  return Ok{};
}

Result<> set_rate(const RecordOptions& options, SamplerOptions& sampler) {
  if (auto set = set_events(options, sampler); !set)
    return set;
  bool has_events = !sampler.events.empty();
  if (options.off_cpu)
    if (auto added = add_off_cpu(*options.off_cpu, sampler); !added)
      return added;
  auto frequency = parse_frequency(options.frequency, options);
  if (!frequency)
    return std::move(frequency).error();
  sampler.frequency = *frequency;
  // --count is of the events that were named, not of those that --off-cpu adds.
  if (options.period.empty())
    return Ok{};
  if (!has_events)
    return usage_error("--count: of which events? name them with -e");
  // The lowest period is that of clocks, whose events are nanoseconds. An event with a period
  // of its own does not take this one.
  auto counts_time = [](const EventType& event) {
    return is_clock(event) && event.period == 0;
  };
  auto period =
      parse_period(options.period, std::ranges::any_of(sampler.events, counts_time), options);
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
  // Frame pointers alone look at as much (kLeafTopSize).
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
  // The stack is read in words.
  sampler.stack_size = static_cast<uint32_t>(*bytes / 8 * 8);
  return Ok{};
}

Result<> set_scope(const RecordOptions& options, Scope& scope) {
  // Names are looked up by open_targets(), once the plan is made. Numbers have 32 bits at the
  // most (parse_process()).
  for (const std::string& process : options.processes)
    if (auto pid = parse_decimal(process))
      scope.pids.push_back(static_cast<uint32_t>(*pid));
  scope.tids = options.tids;
  // Threads that are named one by one have no children to follow.
  scope.follows_children = !options.leaves_children && options.tids.empty();
  // CPUs alone mean whatever runs on them.
  scope.is_system_wide =
      options.is_system_wide || (!options.has_processes() && options.command.empty());
  if (options.cpus.empty())
    return Ok{};
  auto cpus = proc::parse_cpu_list(options.cpus);
  if (!cpus)
    return usage_error(fmt::format("--cpu: {}", cpus.error().message()));
  scope.cpus = *std::move(cpus);
  // possible_cpus() has one at the least, and the highest last.
  for (uint32_t cpu : scope.cpus)
    if (std::vector<uint32_t> there = proc::possible_cpus();
        std::ranges::find(there, cpu) == there.end())
      return usage_error(
          fmt::format("--cpu: there is no CPU {}, only 0 to {}", cpu, there.back()));
  return Ok{};
}

// Recordings of less than that would be more of what is known before than of samples.
constexpr uint64_t kShortestPart = 1'000'000'000;

Result<> set_part(const std::string& text, std::string_view option, uint64_t& part) {
  if (text.empty())
    return Ok{};
  // A text that is no time is 0, and so too short as well.
  part = parse_duration(text).value_or(0);
  if (part >= kShortestPart)
    return Ok{};
  return usage_error(
      fmt::format("{}: '{}' is not a time of a second or more, such as 60s or 5m", option,
                  printable(text)));
}

Result<> set_retention(const RecordOptions& options, Retention& keep) {
  if (options.keep.empty())
    return Ok{};
  auto parsed = parse_retention(options.keep);
  if (!parsed)
    return usage_error(
        fmt::format("--keep: '{}' is not a time such as 24h or 7d, or a size "
                    "such as 10G",
                    printable(options.keep)));
  keep = *parsed;
  return Ok{};
}

// Takes the options of recordings that are several files in a directory.
Result<> set_directory(const RecordOptions& options, RecordPlan& plan) {
  bool has_directory = !options.rotate.empty() || !options.last.empty();
  if (!options.keep.empty() && !has_directory)
    return usage_error("--keep is of a directory of recordings: --rotate or --last makes one");
  if (!options.when.empty() && options.last.empty())
    return usage_error("--when is of a flight recorder: --last says how much it has");
  if (has_directory && (!options.has_output || options.output == "-"))
    return usage_error(fmt::format("{}: into which directory? name it with -o DIR",
                                   options.last.empty() ? "--rotate" : "--last"));
  if (auto set = set_part(options.rotate, "--rotate", plan.rotate_ns); !set)
    return set;
  if (auto set = set_part(options.last, "--last", plan.last_ns); !set)
    return set;
  for (const std::string& text : options.when) {
    auto trigger = Trigger::open(text);
    if (!trigger)
      return std::move(trigger).error().context("--when");
    plan.when.push_back(*std::move(trigger));
  }
  return set_retention(options, plan.keep);
}

Result<> set_limits(const RecordOptions& options, RecordPlan& plan) {
  // A text that is no time or no size is 0, and refused with 0 itself: in the plan that would
  // be no limit.
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
  plan.max_loss = options.max_loss;
  return set_directory(options, plan);
}

}  // namespace

Result<RecordPlan> make_plan(const RecordOptions& options) {
  RecordPlan plan;
  SamplerOptions& sampler = plan.sampler;
  plan.archive = {options.archive, options.archived_data};
  sampler.has_user = !options.is_kernel_only;
  sampler.has_kernel = !options.is_user_only;
  // Contradictions first: an error about a value would hide them.
  if (auto checked = check_scope(options); !checked)
    return std::move(checked).error();
  if (auto checked = check_rest(options); !checked)
    return std::move(checked).error();
  if (auto set = set_scope(options, sampler.scope); !set)
    return std::move(set).error();
  sampler.kind = options.sampler;
  if (auto set = set_rate(options, sampler); !set)
    return std::move(set).error();
  if (auto set = set_wall(options, plan); !set)
    return std::move(set).error();
  if (auto set = set_limits(options, plan); !set)
    return std::move(set).error();
  if (auto set = set_call_graph(options.call_graph, sampler); !set)
    return std::move(set).error();
  return plan;
}

// Targets that exclude one another are refused by check_scope(), which knows what a command
// beside them means.
OptionGroup target_options(RecordOptions& options) {
  return {"What to sample",
          {{.names = "-p,--pid",
            .value = "PID|NAME",
            .help = "Record these processes and their future children, by PID or program "
                    "name; separate several by commas",
            .take = into(options.processes, parse_process),
            .values = Values::kWords},
           {.names = "--comm",
            .value = "NAME[,NAME]",
            .help = "The same by name only: as ps shows it, or the program's file name",
            .take = into(options.comms, parse_given),
            .values = Values::kCommaList,
            .listed = Listed::kPrograms},
           {.names = "-u,--user",
            .value = "USER",
            .help = "Record the processes that this user (name or uid) runs at the start, "
                    "and their future children",
            .take = into(options.user, parse_given)},
           {.names = "-t,--tid",
            .value = "TID[,TID]",
            .help = "Record only these threads",
            .take = into(options.tids, parse_thread_id),
            .values = Values::kWords},
           {.names = "--cgroup",
            .value = "PATH",
            .help = "Record what runs in this cgroup (v2) or below it; may be repeated",
            .take = into(options.cgroups, parse_given),
            .values = Values::kEach},
           {.names = "-a,--all",
            .help = "Record all processes",
            .take = into(options.is_system_wide)},
           {.names = "-C,--cpu",
            .value = "CPUS",
            .help = "Record only these CPUs, such as 0-3,6; alone, all processes there",
            .take = into(options.cpus, parse_given)},
           {.names = "--no-inherit",
            .help = "Do not record child processes",
            .take = into(options.leaves_children)},
           {.names = "-U,--user-only",
            .help = "Sample user-space code only",
            .take = into(options.is_user_only)},
           {.names = "-K,--kernel-only",
            .help = "Sample kernel code only",
            .take = into(options.is_kernel_only)}}};
}

OptionGroup sampling_options(RecordOptions& options) {
  return {
      "How to sample",
      {{.names = "-e,--event",
        .value = "NAME[,NAME]",
        .help = "Events to sample, up to four: cpu-clock, instructions, "
                "page-faults/period=100/, ... (default: cycles, or cpu-clock without it)",
        .take = into(options.events, parse_given),
        .values = Values::kCommaList,
        .likely = event_type_names()},
       {.names = "-F,--freq",
        .value = "HZ",
        .help = "Samples per second of CPU time, up to 10,000, or max (default: 99)",
        .take = into(options.frequency),
        .likely = {"99", "499", "999", "max"}},
       {.names = "-c,--count",
        .value = "N",
        .help = "Sample every N events of -e instead of at a frequency",
        .take = into(options.period, parse_given),
        .excludes = {"--freq"}},
       {.names = "--call-graph",
        .value = "MODE[,SIZE]",
        .help = "How to find callers: fp, auto or dwarf, looking at SIZE bytes of the "
                "stack (default: auto,32768)",
        .take = into(options.call_graph),
        .likely = {"auto", "fp", "dwarf"}},
       // Options without `take` have no effect: scripts written for perf give them.
       {.names = "-g",
        .help = "Accepted for compatibility with perf; call stacks are always recorded"},
       {.names = "-f",
        .help = "Accepted for compatibility; an old recording is always kept as FILE.old"},
       {.names = "-m",
        .value = "PAGES",
        .help = "Accepted for compatibility; buffer sizes follow from the sample rate"},
       {.names = "-z", .help = "Accepted for compatibility; recordings are always compressed"},
       {.names = "--sampler",
        .value = "NAME",
        .help = "Take samples by bpf or perf; auto uses what is allowed (default: auto)",
        .take = one_of(options.sampler, {{"auto", SamplerKind::kAuto},
                                         {"bpf", SamplerKind::kBpf},
                                         {"perf", SamplerKind::kPerf}})}}};
}

Option duration_option(RecordOptions& options) {
  return {.names = "-d,--duration",
          .value = "TIME",
          .help =
              "Stop after this time, in seconds or such as 1.5s, 2m (default: until "
              "Ctrl-C)",
          .take = into(options.duration, parse_given),
          .likely = {"10s", "30s", "1m"}};
}

Option archive_option(RecordOptions& options) {
  return {.names = "--archive",
          .value = "WHICH",
          .help =
              "Files to store in the recording: auto (deleted, replaced, or inside a "
              "container), all, none "
              "(default: auto)",
          .take = one_of(options.archive, {{"auto", ArchiveMode::kAuto},
                                           {"all", ArchiveMode::kAll},
                                           {"none", ArchiveMode::kNone}})};
}

Option archive_data_option(ArchivedData& data) {
  return {
      .names = "--archive-data",
      .value = "yes|no",
      .help = "Store files with their initial data (.data), which name no code (default: yes)",
      .take = one_of(data, {{"yes", ArchivedData::kKept}, {"no", ArchivedData::kLeftOut}})};
}

namespace {

Option wall_option(RecordOptions& options) {
  return {.names = "--wall",
          .value = "HZ",
          .help =
              "Also sample all goroutines, running or waiting, HZ times a second: the event "
              "wall (default: 97)",
          .take = into(options.wall),
          .values = Values::kOptional};
}

// The name of an output with %h, %t and %% replaced.
Result<std::string> output_name(const std::string& text) {
  std::string name;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      name += text[i];
      continue;
    }
    char what = ++i < text.size() ? text[i] : '\0';
    if (what == 'h')
      name += host_in_file_name();
    else if (what == 't')
      name += fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(std::time(nullptr)));
    else if (what == '%')
      name += '%';
    else
      return errorf(
          "'{}': %h is the host, %t the time, %% a percent sign; nothing else follows a %",
          printable(text));
  }
  return name;
}

Result<uint32_t> parse_runs(const std::string& text) {
  constexpr uint32_t kMaxRuns = 10'000;
  auto runs = parse_decimal(text);
  if (!runs || *runs == 0 || *runs > kMaxRuns)
    return errorf("'{}' is not a number from 1 to {}", printable(text), with_commas(kMaxRuns));
  return static_cast<uint32_t>(*runs);
}

// Texts whose meaning depends on other options are stored as they are, and parsed by
// make_plan(). Of two options that exclude each other one tells it (find_conflict()).
OptionGroup output_options(RecordOptions& options) {
  return {
      "When to stop, and what to write",
      {duration_option(options),
       {.names = "--max-size",
        .value = "SIZE",
        .help = "Stop when the file is this large, such as 500K, 10M (default: no limit)",
        .take = into(options.max_size, parse_given)},
       loss_option(options.max_loss),
       {.names = "-o,--output",
        .value = "FILE",
        .help = "Write to FILE, and keep an old one as FILE.old; %h in it is the host's name, "
                "%t the time; - is standard output (default: cpu.raw)",
        .take =
            [&options](const std::string& text) {
              options.has_output = true;
              return into(options.output, output_name).parse(text);
            }},
       {.names = "--rotate",
        .value = "TIME",
        .help = "Write into the directory that -o names, and begin a new file there after each "
                "TIME, such as 60s",
        .take = into(options.rotate, parse_given),
        .excludes = {"--max-size", "--runs", "--last"},
        .likely = {"60s", "5m"}},
       {.names = "--last",
        .value = "TIME",
        .help = "Keep the last TIME in memory, such as 60s, and make a file of it in the "
                "directory that -o names when --when says so, or gosym snapshot",
        .take = into(options.last, parse_given),
        .excludes = {"--max-size", "--runs"},
        .likely = {"60s", "5m"}},
       {.names = "--when",
        .value = "WHAT",
        .help =
            "What to wait for: cpu>80%, psi.cpu.some>30%, cgroup:PATH.cpu>2, file:PATH; may "
            "be repeated",
        .take = into(options.when, parse_given),
        .values = Values::kEach,
        .likely = {"cpu>80%", "psi.cpu.some>30%"}},
       {.names = "--keep",
        .value = "HOW-MUCH",
        .help = "Remove the oldest files of that directory: those older than 24h or 7d, or "
                "beyond 10G of all, or 7d,10G (default: none)",
        .take = into(options.keep, parse_given),
        .likely = {"24h", "7d", "10G"}},
       {.names = "--runs",
        .value = "N",
        .help = "Run the command N times, and record each into a file of its own of the "
                "directory that -o names",
        .take = into(options.runs, parse_runs)},
       archive_option(options),
       archive_data_option(options.archived_data),
       {.names = "--metrics",
        .value = "FILE",
        .help = "Write figures of the recorder into FILE each 15 s, such as "
                "/var/lib/node_exporter/gosym.prom, for Prometheus",
        .take = into(options.metrics, parse_given)},
       {.names = "--host-root",
        .value = "DIR",
        .help = "Files that lie at their paths below DIR are the host's, and not stored "
                "(default: /proc/1/root where that is another root than ours)",
        .take = into(options.host_root, parse_directory)},
       {.names = "-v,--verbose",
        .help = "Print more detail",
        .take = into(options.is_verbose),
        .excludes = {"--quiet"}},
       {.names = "-q,--quiet", .help = "Print errors only", .take = into(options.is_quiet)}}};
}

}  // namespace

std::vector<OptionGroup> record_options(RecordOptions& options) {
  OptionGroup sampling = sampling_options(options);
  sampling.options.push_back(
      {.names = "--off-cpu",
       .value = "THRESHOLD",
       .help = "Also sample where threads wait, and why: each wait of THRESHOLD or longer, and "
               "some that are shorter (default: 10ms)",
       .take = into(options.off_cpu),
       .values = Values::kOptional,
       .likely = {"10ms", "1ms", "0"}});
  sampling.options.push_back(wall_option(options));
  return {target_options(options), std::move(sampling), output_options(options)};
}

}  // namespace gosym
