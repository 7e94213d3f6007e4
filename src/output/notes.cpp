#include "output/notes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <ctime>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/percent.h"
#include "base/text.h"
#include "model/container.h"
#include "profile/own_code.h"
#include "profile/rewrite_stacks.h"
#include "view/frame_keys.h"

// Each fact and note of a report has a function here, which decides whether it says anything:
// an empty text, or nothing added, is no note.
namespace gosym {

std::string_view remedy_of(Unnamed unnamed) {
  switch (unnamed) {
    case Unnamed::kNotSymbolized:
      return "names were not looked for";
    case Unnamed::kUnmapped:
      return "the CPU was outside all mapped code, or a mapping was lost";
    case Unnamed::kAnonymous:
      return "made at run time, if not copied there: names take a perf map, as of node "
             "--perf-basic-prof";
    case Unnamed::kUnlisted:
      return "made at run time, and left out of its process's perf map";
    case Unnamed::kVdso:
      return "code of the kernel that the recording has no symbol for";
    case Unnamed::kUnidentified:
      return "not readable while it ran: record with more rights, or it ended too soon";
    case Unnamed::kDeleted:
      return "gone or replaced while it ran: restart the program and record again";
    case Unnamed::kMissing:
      return "report where it was recorded, or put the file in its place or below --symfs";
    case Unnamed::kChanged:
      return "put the file back that was recorded";
    case Unnamed::kStripped:
      return "install its debug package, or see --debug-dir and --debuginfod";
    case Unnamed::kNoSymbol:
      return "its tables leave this code out, or have an empty name for it";
    case Unnamed::kNoKernelSymbols:
      return "record with CAP_SYSLOG, and sysctl kernel.kptr_restrict below 2";
    case Unnamed::kLeftOut:
      return "the stack is deeper than a sample holds";
    case Unnamed::kCallFromC:
      return "goroutines that C code entered, without a stack while they run: CPU samples have "
             "it";
  }
  assert(false);
  return {};
}

namespace {

using Notes = std::vector<Note>;

constexpr size_t kMaxLabelsShown = 10;

// "demo 61.0 %, nginx 21.3 %, and 4 more": the items that are shown, of so many.
std::string as_list(std::vector<std::string> items, size_t count) {
  if (items.size() < count)
    items.push_back(fmt::format("and {} more", with_commas(count - items.size())));
  return joined(items, ", ");
}

std::string utc_time(uint64_t realtime_ns) {
  auto time = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  std::array<char, 64> text{};  // a year of 64 bits of seconds has 12 digits
  // Years beyond those of std::tm, as a damaged recording may have.
  if (!gmtime_r(&time, &parts))
    return "?";
  size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

// "cc1plus (12 processes) 61.0 %, prometheus (77) 21.3 %, and 4 more"
std::string list_programs(const Profile& profile, const Hosts& hosts, size_t limit) {
  std::vector<ProfiledProgram> programs = find_programs(profile, profile.samples, hosts);
  std::vector<std::string> items;
  for (const ProfiledProgram& program :
       std::span(programs).first(std::min(programs.size(), limit))) {
    const ProfiledProcess& first = program.processes.front();
    items.push_back(
        fmt::format("{} ({}) {:.1f} %", printable(profile.strings[program.comm]),
                    program.processes.size() > 1
                        ? fmt::format("{} processes", with_commas(program.processes.size()))
                        : fmt::format("{}{}", first.pid, printable(hosts.suffix(first.host))),
                    percent(program.amount, profile.total_amount())));
  }
  return as_list(std::move(items), programs.size());
}

// "demo (4242) 98.2 %, kworker/0:1 (77) 1.8 %"; of more than the limit, those of one name
// together.
std::string list_processes(const Profile& profile, size_t limit) {
  Hosts hosts(profile);
  std::vector<ProfiledProcess> processes = find_processes(profile, profile.samples, hosts);
  // Too many processes: those of one program are put together before any are left out.
  if (processes.size() > limit)
    return list_programs(profile, hosts, limit);
  uint64_t total = profile.total_amount();
  std::vector<std::string> items;
  for (const ProfiledProcess& process : processes)
    items.push_back(fmt::format("{} ({}){} {:.1f} %", printable(profile.strings[process.comm]),
                                process.pid, printable(hosts.suffix(process.host)),
                                percent(process.amount, total)));
  return joined(items, ", ");
}

// "3f2a9c01be42 61.0 %, 77ab0e0c4d11 12.4 %": those with most, of a total.
std::string list_shares(const std::map<std::string_view, uint64_t>& amounts, uint64_t total) {
  std::vector<std::pair<std::string_view, uint64_t>> sorted(amounts.begin(), amounts.end());
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second; });
  std::vector<std::string> items;
  for (const auto& [name, amount] : sorted)
    if (items.size() < kMaxProcessesShown)
      items.push_back(fmt::format("{} {:.1f} %", printable(name), percent(amount, total)));
  return as_list(std::move(items), sorted.size());
}

std::string list_containers(const Profile& profile) {
  std::map<std::string_view, uint64_t> amounts;
  for (const SampleCount& sample : profile.samples)
    if (std::string_view id = container_id(profile.strings[profile.owner(sample).cgroup]);
        !id.empty())
      amounts[id.substr(0, kShortContainerId)] += profile.amount(sample);
  return list_shares(amounts, profile.total_amount());
}

// "sleeping 61.2 %, throttled 30.1 %": what threads did while they waited; empty if none did.
std::string list_states(const Profile& profile) {
  std::map<std::string_view, uint64_t> amounts;
  for (const SampleCount& sample : profile.samples)
    if (StringId state = profile.owner(sample).state; state != StringId{})
      amounts[profile.strings[state]] += profile.amount(sample);
  return list_shares(amounts, profile.total_amount());
}

// "10,012 on average, 31.8 looked at each time": how many a sample stands for; empty where they
// were not sampled, or not all samples are there.
std::string goroutine_counts(const Profile& profile) {
  constexpr double kAll = 0.95;  // looks come a little late
  double seconds_in_all = to_seconds(profile.duration_ns);
  // Looks were due at each tick; only with all samples of one recording does the quotient say
  // how many goroutines each look found.
  double looks = seconds_in_all * static_cast<double>(profile.event().frequency);
  if (profile.event().measure != Measure::kGoroutineTime || looks < 1 ||
      !profile.filter.empty() || profile.recordings.size() > 1)
    return {};
  double goroutines = to_seconds(profile.total_amount()) / seconds_in_all;
  double looked_at = static_cast<double>(profile.total_count()) / looks;
  auto average = with_commas(static_cast<uint64_t>(std::llround(goroutines)));
  return looked_at >= kAll * goroutines
             ? fmt::format("{} on average, all looked at each time", average)
             : fmt::format("{} on average, {:.1f} looked at each time", average, looked_at);
}

// "80 ms for demo (4242), 20 ms for nginx (77)": processes whose waits were too many for the
// threshold of the event; empty if none's were.
std::string list_thresholds(const Profile& profile) {
  if (!has_intervals(profile.event()))
    return {};
  Hosts hosts(profile);
  std::vector<std::string> items;
  // The largest come first (Profile::raised_thresholds).
  for (const RaisedThreshold& raised : profile.raised_thresholds)
    if (items.size() < kMaxProcessesShown)
      items.push_back(
          fmt::format("{} for {} ({}){}", time_text(raised.nanoseconds),
                      printable(profile.strings[raised.process]), raised.pid,
                      printable(hosts.suffix(hosts.of_recording(raised.recording)))));
  return as_list(std::move(items), profile.raised_thresholds.size());
}

// "handler (12), name (4)": each key of labels with the number of its values.
std::string list_labels(const Profile& profile) {
  std::set<std::pair<std::string_view, std::string_view>> labels;
  for (const std::vector<ProfileLabel>& set : profile.label_sets)
    for (const ProfileLabel& label : set)
      labels.emplace(profile.strings[label.key], profile.strings[label.value]);
  std::map<std::string_view, size_t> counts;
  for (const auto& label : labels)
    counts[label.first]++;

  std::vector<std::string> items;
  for (const auto& [key, count] : counts)
    if (items.size() < kMaxLabelsShown)
      items.push_back(fmt::format("{} ({})", printable(key), with_commas(count)));
  return as_list(std::move(items), counts.size());
}

// ", from 3.1 to 5.2 s on CPU 0 and 1", to end a sentence about what the counts say was lost;
// empty if nothing tells. Seconds are since the recording began.
std::string when_lost(const Profile& profile, uint64_t CpuCounts::*what) {
  uint64_t begin = UINT64_MAX;
  uint64_t end = 0;
  std::set<uint32_t> cpus;
  for (const Loss& loss : profile.losses) {
    // Losses are kept by interval and CPU: those of other kinds say nothing about this one.
    if (loss.counts.*what == 0)
      continue;
    begin = std::min(begin, loss.begin);
    end = std::max(end, loss.end);
    cpus.insert(loss.counts.cpu);
  }
  if (cpus.empty())
    return {};
  std::vector<std::string> numbers;
  for (uint32_t cpu : cpus)
    numbers.push_back(std::to_string(cpu));
  std::string which = cpus.size() > 4 ? fmt::format("{} CPUs", cpus.size())
                                      : fmt::format("CPU {}", joined(numbers, " and "));
  return fmt::format(", from {:.1f} to {:.1f} s on {}", to_seconds(begin), to_seconds(end),
                     which);
}

// Samples of perf_event stand for no others, and what they lack is known at the end only.
Note skipped_note(const Profile& profile) {
  const RecordingStats& stats = profile.stats;
  uint64_t skipped = stats.sum_of(&CpuCounts::skipped);
  bool is_missing = profile.info.sampler == "perf";
  return {"skipped",
          fmt::format("{} of {} ticks ({:.1f} %){}: {}", with_commas(skipped),
                      with_commas(stats.samples + stats.lost_samples + skipped),
                      stats.skipped_percent(),
                      is_missing ? fmt::format(", {:.2f} s of CPU time",
                                               to_seconds(skipped * profile.period()))
                                 : when_lost(profile, &CpuCounts::skipped),
                      why_skipped(profile.info))};
}

// For all that was recorded: a filter leaves out what the kernel does not tell apart.
void add_unsampled(const Profile& profile, Notes& notes) {
  // None where the kernel does not tell, or it is too little to matter.
  auto unsampled = unsampled_ns(profile.info, profile.stats);
  if (!unsampled || !profile.filter.empty() || !profile.measures_cpu_time())
    return;
  uint64_t charged = profile.stats.charged_ns;
  auto amount = static_cast<uint64_t>(std::abs(*unsampled));
  // More was charged than sampled: the rest ran between ticks. A small excess is chance, and
  // says nothing.
  if (*unsampled > 0)
    notes.push_back(
        {"unsampled",
         fmt::format("{:.2f} s ({:.1f} %) of {:.2f} s that the kernel charged has no sample: "
                     "mostly {}",
                     to_seconds(amount), percent(amount, charged), to_seconds(charged),
                     profile.info.sampler == "perf"
                         ? "of threads that ended before their first tick"
                         : "its own switching between threads and timers")});
  else if (percent(amount, charged) >= kMuchExcess)
    notes.push_back(
        {"excess",
         fmt::format("the samples stand for {:.2f} s ({:.1f} %) more than the {:.2f} s that "
                     "the kernel charged: shares may be wrong",
                     to_seconds(amount), percent(amount, charged), to_seconds(charged))});
}

void add_losses(const Profile& profile, Notes& notes) {
  const RecordingStats& stats = profile.stats;
  uint64_t throttled = stats.sum_of(&CpuCounts::throttled_ns);
  uint64_t lost_ns = stats.sum_of(&CpuCounts::lost_ns);
  // Lost samples were taken as well, so that the share is of all that were.
  uint64_t taken = stats.samples + stats.lost_samples;
  if (stats.lost_samples > 0)
    notes.push_back(
        {"lost", fmt::format("{} of {} samples ({:.1f} %){}{}", with_commas(stats.lost_samples),
                             with_commas(taken), percent(stats.lost_samples, taken),
                             lost_ns > 0 ? fmt::format(", {:.2f} s of {}", to_seconds(lost_ns),
                                                       printable(amount_text(profile.event())))
                                         : "",
                             when_lost(profile, &CpuCounts::lost_samples))});
  if (stats.lost_events > 0)
    notes.push_back({"lost", fmt::format("{} events; mappings and names may be missing{}",
                                         with_commas(stats.lost_events),
                                         when_lost(profile, &CpuCounts::lost_events))});
  if (stats.skipped_percent() > 0)
    notes.push_back(skipped_note(profile));
  if (throttled > 0)
    notes.push_back(
        {"throttled",
         fmt::format("{:.2f} s of CPU time without samples, by the kernel{}",
                     to_seconds(throttled), when_lost(profile, &CpuCounts::throttled_ns))});
}

// The stacks that UnwindCounts counts. It counts all recorded ones, for nothing tells which of
// the selected stacks were repaired.
std::string_view walked_stacks(const Profile& profile) {
  return profile.recorded_amounts.empty() ? "the stacks" : "all stacks";
}

// Threads of the Go runtime have a stack like this now and then; a few change no figure.
void add_truncated(const Profile& profile, Notes& notes) {
  constexpr double kNoticed = 1;
  const UnwindCounts& unwound = profile.unwound;
  auto add = [&](std::string_view title, uint64_t stacks, std::string_view what) {
    if (double share = percent(stacks, unwound.samples); share >= kNoticed)
      notes.push_back({std::string(title),
                       fmt::format("{:.1f} % of {} {}", share, walked_stacks(profile), what)});
  };
  add("deep", unwound.deep,
      "have more frames than are kept: total % is a lower bound for functions in their middle");
  add("truncated", unwound.cut, "are incomplete: total % is a lower bound");
  add("unknown", unwound.unknown, "end in code without unwind tables: callers may be missing");
}

// Says how stacks were changed; nothing if they are as the frame pointers told them.
void add_repaired(const Profile& profile, Notes& notes) {
  if (profile.unwound.repaired > 0)
    notes.push_back(
        {"repaired", fmt::format("{:.1f} % of {}: missing callers found by unwind tables",
                                 percent(profile.unwound.repaired, profile.unwound.samples),
                                 walked_stacks(profile))});
}

// Says what was left out of the stacks, or put into them.
void add_sampler(const Profile& profile, Notes& notes) {
  if (profile.info.sampler == "perf")
    notes.push_back(
        {"sampled", fmt::format("by perf_event's call chains: no goroutines{}",
                                profile.info.has_kernel ? "" : ", no kernel code")});
}

// Fewer samples than this make shares of a few percent that are mere chance. Long waits are all
// sampled, so that these shares are none.
constexpr uint64_t kFewSamples = 200;

void add_few(const Profile& profile, Notes& notes) {
  if (profile.total_count() < kFewSamples && !has_intervals(profile.event()) &&
      profile.info.has_counts)
    notes.push_back(
        {"few", fmt::format("{}: shares are rough; record longer, or at a higher rate",
                            count_text(profile.total_count(), "sample"))});
}

// "9.05 s", "4,100".
std::string with_unit(const Amounts& amounts, uint64_t amount) {
  std::string text = amounts.text(amount);
  return amounts.unit().empty() ? text : fmt::format("{} {}", text, amounts.unit());
}

constexpr size_t kMaxParts = 60;

// The length of the parts of the time that load is shown of, in nanoseconds: whole steps of a
// page, and some ticks of each CPU, or its height would be chance.
uint64_t part_of_load(const Profile& profile, size_t most_parts) {
  uint64_t step = step_of_page(profile.duration_ns);
  uint64_t least = std::max(4 * profile.period(), profile.duration_ns / most_parts);
  return std::max<uint64_t>(1, (least + step - 1) / step) * step;
}

// The number of CPUs that were used in each part; empty if there are less than two parts. Time
// that is left at the end counts with the last one.
std::vector<double> load_of(const Profile& profile, uint64_t part) {
  size_t count = profile.duration_ns / part;
  if (count < 2)
    return {};
  // One part more than is shown, for the time that is left at the end: it is added to the last
  // part, which is so much longer. A report is of one event, whose timeline is the first.
  std::vector<double> cpus = profile.timelines[0].parts(count + 1, (count + 1) * part);
  cpus[count - 1] += cpus[count];
  cpus.pop_back();
  for (double& amount : cpus) {
    uint64_t length = &amount == &cpus.back() ? profile.duration_ns - (count - 1) * part : part;
    amount *= static_cast<double>(profile.period()) / static_cast<double>(length);
  }
  return cpus;
}

// "▁▃▇█▂  each 250 ms, 0.20 to 1.90 CPUs"; empty where time tells nothing.
std::string load_text(const Profile& profile, const Screen& screen) {
  constexpr size_t kTextWidth = 50;  // the title, and "each 250 ms, 0.20 to 1.90 CPUs"
  // The bars get what the text beside them leaves of the line.
  size_t room =
      screen.has_width() ? screen.width - std::min(screen.width, kTextWidth - 1) : kMaxParts;
  // One bar tells nothing, and a line may leave no column at all.
  if (room < 2 || profile.timelines.empty() || !profile.measures_cpu_time())
    return {};
  uint64_t part = part_of_load(profile, std::min(room, kMaxParts));
  std::vector<double> load = load_of(profile, part);
  if (load.empty())
    return {};
  double most = std::ranges::max(load);
  std::string bars;
  for (double cpus : load)
    bars += bar_of(most == 0 ? 0 : cpus / most);
  // In a part of the time a tick more or less is chance, but no host has more CPUs than it has.
  double all_cpus = profile.info.cpu_count == 0 ? HUGE_VAL : profile.info.cpu_count;
  auto part_ns = static_cast<double>(part);
  return fmt::format("{}  each {}, {:.2f} to {:.2f} CPUs", bars,
                     part_ns < 1e9 ? fmt::format("{:.0f} ms", part_ns / 1e6)
                                   : fmt::format("{:.1f} s", part_ns / 1e9),
                     std::min(all_cpus, std::ranges::min(load)), std::min(all_cpus, most));
}

// "12.3 %, and 71.0 % with what it calls, see --mine: module example.com/shop". Empty where
// that tells nothing: there is none, or hardly anything else.
std::string own_code_share(const Profile& profile) {
  constexpr double kNearlyAll = 95;
  // Set where only own code is shown (--mine): then a share of it says nothing.
  if (profile.own_code)
    return profile.own_code->empty() ? "none is known" : printable(*profile.own_code);
  // All waits end in the kernel, whoever waits.
  if (has_intervals(profile.event()) || !profile.filter.empty())
    return {};
  std::vector<bool> is_of_own = find_own(profile);
  OwnAmounts own = own_amounts(profile, is_of_own);
  uint64_t total = profile.total_amount();
  if (own.total == 0 || percent(own.self, total) >= kNearlyAll)
    return {};
  return fmt::format("{:.1f} %, and {:.1f} % with what it calls, see --mine: {}",
                     percent(own.self, total), percent(own.total, total),
                     own_code_text(profile, is_of_own));
}

// The command without the folder that gosym was in.
std::string_view without_folder(std::string_view command_line) {
  size_t slash = command_line.substr(0, command_line.find(' ')).rfind('/');
  return slash == command_line.npos ? command_line : command_line.substr(slash + 1);
}

// "2026-11-22T10:00:00Z on web-1 by gosym record -a, Linux 6.1.0 x86_64": what a narrow screen
// cuts off is what says least.
std::string when_and_where(uint64_t start_realtime_ns, const RecordingInfo& info) {
  // `source` is empty for gosym's own recordings, which know all that the last line tells.
  if (!info.source.empty())
    return printable(info.source) +
           (start_realtime_ns == 0 ? "" : fmt::format(" of {}", utc_time(start_realtime_ns))) +
           (info.command_line.empty()
                ? ""
                : fmt::format(", by {}", printable(without_folder(info.command_line))));
  return fmt::format("{} on {} by {}, Linux {} {}", utc_time(start_realtime_ns),
                     printable(info.host), printable(without_folder(info.command_line)),
                     printable(info.kernel_release), printable(info.machine));
}

// The origin of the samples: a note, or one for each of several recordings.
void add_origins(const Profile& profile, Notes& facts) {
  constexpr size_t kMaxShown = 5;
  // Recordings of gosym have no `source`. A file of another format may tell neither time nor
  // host, so that its name is what is known of its origin.
  if (profile.recordings.size() == 1 && !profile.info.source.empty()) {
    facts.push_back(
        {"read",
         fmt::format("{}, {}",
                     profile.recordings[0].name == "-" ? "standard input"
                                                       : printable(profile.recordings[0].name),
                     when_and_where(profile.start_realtime_ns, profile.info))});
    return;
  }
  if (profile.recordings.size() <= 1) {
    facts.push_back({"recorded", when_and_where(profile.start_realtime_ns, profile.info)});
    return;
  }
  std::vector<uint64_t> counts(profile.recordings.size());
  for (const SampleCount& sample : profile.samples)
    counts[profile.owner(sample).recording] += sample.count;
  for (size_t i = 0; i < std::min(counts.size(), kMaxShown); i++) {
    const ProfiledRecording& one = profile.recordings[i];
    facts.push_back(
        {one.info.source.empty() ? "recorded" : "read",
         fmt::format("{}: {}{}, {}", printable(one.name), count_text(counts[i], "sample"),
                     one.duration_ns == 0
                         ? ""
                         : fmt::format(" in {:.2f} s", to_seconds(one.duration_ns)),
                     when_and_where(one.start_realtime_ns, one.info))});
  }
  if (counts.size() > kMaxShown)
    facts.back().rest =
        fmt::format("and {} more; --by recording has them all", counts.size() - kMaxShown);
}

// "610 samples of cpu-clock at 99 Hz: 6.16 s of CPU time"
std::string recorded_amount(const Profile& profile, const Amounts& amounts, bool has_event) {
  std::string what = printable(amount_text(profile.event()));
  return fmt::format("{}{}: {} {}{}", count_text(profile.total_count(), "sample"),
                     has_event ? " of " + printable(event_text(profile.event())) : "",
                     with_unit(amounts, amounts.total()), profile.measures_time() ? "of " : "",
                     what);
}

// The amount of a profile that was read from a file: "610 samples", "610 samples: 6.10 s of CPU
// time", "512.0 KiB of inuse_space".
std::string given_amount(const Profile& profile, const Amounts& amounts) {
  const RecordedEvent& event = profile.event();
  std::string counted = count_text(profile.total_count(), "sample");
  if (event.measure == Measure::kSamples)
    return counted;
  std::string amount = fmt::format("{} of {}", with_unit(amounts, amounts.total()),
                                   printable(amount_text(event)));
  return profile.info.has_counts ? fmt::format("{}: {}", counted, amount) : amount;
}

// "610 goroutines", which are counted, not sampled.
std::string counted_amount(const Profile& profile) {
  return count_text(profile.total_amount(), printable(profile.event().name));
}

// `has_event`: with the name of the event, which make_headline() leaves out first.
std::string headline(const Profile& profile, const Amounts& amounts, bool has_event) {
  const RecordingInfo& info = profile.info;
  // Samples were counted by perf as by gosym, which of other files is not known.
  bool is_recorded = info.source.empty() || !info.sampler.empty();
  std::string text = is_counted(profile.event()) ? counted_amount(profile)
                     : is_recorded               ? recorded_amount(profile, amounts, has_event)
                                                 : given_amount(profile, amounts);
  // Between recordings may lie any time.
  if (profile.recordings.size() > 1)
    return text + fmt::format(" in {} {}", profile.recordings.size(),
                              info.source.empty() ? "recordings" : "files");
  if (profile.duration_ns == 0 && (!info.source.empty() || is_counted(profile.event())))
    return text;
  text += fmt::format(" in {:.2f} s", to_seconds(profile.duration_ns));
  if (profile.measures_cpu_time() && profile.duration_ns > 0)
    text +=
        fmt::format(", {:.2f}{}",
                    static_cast<double>(amounts.total() * profile.period()) /
                        static_cast<double>(profile.duration_ns),
                    info.cpu_count > 1 ? fmt::format(" of {} CPUs", info.cpu_count) : " CPUs");
  return text;
}

// Facts about the samples that are shown. The order is that of the report: first where they are
// from, then what they are of, then how they were selected.
Notes make_facts(const Profile& profile, const Amounts& amounts, const AboutOptions& options) {
  Notes facts;
  auto add = [&](std::string_view title, std::string text) {
    if (!text.empty())
      facts.push_back({std::string(title), std::move(text)});
  };
  add_origins(profile, facts);
  // A profile that was read may not know them.
  if (std::ranges::any_of(profile.samples,
                          [&](const SampleCount& sample) {
                            const Owner& owner = profile.owner(sample);
                            return owner.pid != 0 || owner.comm != StringId{};
                          }) ||
      profile.info.source.empty())
    facts.push_back({"processes", list_processes(profile, options.max_processes)});
  add("states", list_states(profile));
  if (profile.idle_ns > 0 && has_intervals(profile.event()))
    add("idle", fmt::format("{:.2f} s more in idle threads of Go's runtime, see --idle; what "
                            "goroutines wait for: record --wall",
                            to_seconds(profile.idle_ns)));
  add("goroutines", goroutine_counts(profile));
  if (std::string thresholds = list_thresholds(profile); !thresholds.empty())
    add("threshold",
        fmt::format("up to {}, which waited more often than is sampled", thresholds));
  add("load", load_text(profile, options.screen));
  // recorded_amounts has one entry, as a report is of one event; none if no stacks were
  // selected.
  if (!profile.filter.empty())
    add("only",
        fmt::format("{}{}", printable(profile.filter),
                    profile.recorded_amounts.empty()
                        ? ""
                        : fmt::format(": {:.1f} % of all",
                                      percent(amounts.total(), profile.recorded_amounts[0]))));
  add("own code", own_code_share(profile));
  add("estimate", std::string(estimate_of(profile)));
  return facts;
}

// Another file of the same size and time would pass for them.
void add_known(const Profile& profile, Notes& notes) {
  std::vector<std::string> names;
  for (const ProfileImage& image : profile.images)
    if (image.is_told_by_time)
      names.push_back(printable(base_name(image.file.path)));
  if (names.empty())
    return;
  notes.push_back(
      {"known", fmt::format("by size and time of change alone, without a build id: {}",
                            first_of(names))});
}

// The number of occurrences of each location in stacks of samples.
std::vector<uint64_t> count_visits(const Profile& profile) {
  std::vector<uint64_t> visits(profile.locations.size());
  for (const SampleCount& sample : profile.samples)
    for (LocationId location : profile.stack(sample.stack))
      visits[to_index(location)] += sample.count;
  return visits;
}

// Counts frames in stacks of samples; a location without a name is one frame.
struct FrameCounts {
  struct Group {
    uint32_t image;
    Unnamed reason;
    auto operator<=>(const Group&) const = default;
  };
  uint64_t frames = 0;
  uint64_t unnamed_frames = 0;
  std::map<Group, uint64_t> groups;  // unnamed frames of each
  std::set<uint32_t> named_images;   // that have frames with names
};

enum class StackPart : uint8_t { kUser, kKernel };

FrameCounts count_frames(const Profile& profile, StackPart part) {
  std::vector<uint64_t> visits = count_visits(profile);
  FrameCounts counts;
  for (size_t i = 0; i < visits.size(); i++) {
    const Location& location = profile.locations[i];
    // A location for frames that were left out is no code, with or without a name.
    if (profile.is_kernel(location) != (part == StackPart::kKernel) || visits[i] == 0 ||
        location.unnamed == Unnamed::kLeftOut)
      continue;
    // Inlined functions are frames as well.
    counts.frames += visits[i] * std::max(location.frame_count, 1u);
    uint32_t image = profile.mappings[to_index(location.mapping)].image;
    if (profile.is_named(location)) {
      counts.named_images.insert(image);
      continue;
    }
    counts.unnamed_frames += visits[i];
    counts.groups[{image, location.unnamed}] += visits[i];
  }
  return counts;
}

// Frames of code without names that have one remedy.
struct NamelessCode {
  std::string name;
  std::string remedy;
  uint64_t frames;
};

std::string remedy_of(Unnamed reason, const ProfileImage& image) {
  if (reason == Unnamed::kStripped && !image.debug_package.empty())
    return fmt::format("install {}, or see --debug-dir", printable(image.debug_package));
  return std::string(remedy_of(reason));
}

std::string remedy_in(const Profile& profile, const FrameCounts& counts,
                      FrameCounts::Group group) {
  const ProfileImage& image = profile.images[group.image];
  bool has_names = counts.named_images.contains(group.image);
  // A library has names for what it exports only, so that "stripped" alone would look wrong.
  if (group.reason == Unnamed::kStripped && has_names)
    return fmt::format(
        "names only what it exports: install {}, or see --debug-dir",
        image.debug_package.empty() ? "its debug package" : printable(image.debug_package));
  return remedy_of(group.reason, image);
}

// One for groups that read the same, anonymous code for one; the most frames first.
std::vector<NamelessCode> nameless_code(const Profile& profile, const FrameCounts& counts) {
  std::map<std::pair<std::string, std::string>, uint64_t> merged;
  for (const auto& [group, frames] : counts.groups)
    merged[{unnamed_group(group.reason, profile.images[group.image]),
            remedy_in(profile, counts, group)}] += frames;

  std::vector<NamelessCode> rows;
  rows.reserve(merged.size());
  for (const auto& [texts, frames] : merged)
    rows.push_back({texts.first, texts.second, frames});
  std::ranges::stable_sort(rows, std::greater<>(), &NamelessCode::frames);
  return rows;
}

// "label", as it is elsewhere, would be taken for a goroutine's.
std::string_view kind_of_source(FrameSource source) {
  if (source == FrameSource::kCallFrames)
    return "none";
  return source == FrameSource::kLabel ? "guess" : split(to_string(source), ',').front();
}

constexpr double kLeastShown = 0.05;  // less is rounded to 0.0 %
constexpr double kLeastTold = 0.5;    // percent of the samples: less changes no figure

// The share of each source of names in all frames of all stacks: "from pclntab 61.2 %, kallsyms
// 20.1 %, none 18.7 %". A share that rounds to 0.0 % is left out.
void add_sources(const Profile& profile, Notes& notes) {
  std::vector<uint64_t> visits = count_visits(profile);
  std::map<std::string_view, uint64_t> counts;
  uint64_t all = 0;
  for (size_t i = 0; i < visits.size(); i++) {
    const Location& location = profile.locations[i];
    if (location.unnamed == Unnamed::kLeftOut)
      continue;
    for (const Frame& frame : profile.frames_of(location))
      counts[kind_of_source(frame.source)] += visits[i];
    if (location.frame_count == 0)
      counts["none"] += visits[i];
    all += visits[i] * std::max(location.frame_count, 1u);
  }
  std::vector<std::pair<std::string_view, uint64_t>> sources(counts.begin(), counts.end());
  std::ranges::stable_sort(sources, std::greater<>(), [](const auto& s) { return s.second; });

  std::vector<std::string> items;
  for (const auto& [source, count] : sources)
    if (percent(count, all) >= kLeastShown)
      items.push_back(fmt::format("{} {:.1f} %", source, percent(count, all)));
  if (!items.empty())
    notes.push_back({"names", fmt::format("from {}", joined(items, ", "))});
}

// For the user's or the kernel's part of all stacks: how many of its frames have no name, of
// which images, and what would give them one; `top` such rows, 0 for all.
void add_nameless(const Profile& profile, StackPart part, size_t top, Notes& notes) {
  FrameCounts counts = count_frames(profile, part);
  if (counts.unnamed_frames == 0)
    return;
  Note note = {"", fmt::format("{} of {} {} frames have no name:",
                               with_commas(counts.unnamed_frames), with_commas(counts.frames),
                               part == StackPart::kKernel ? "kernel" : "user")};
  std::vector<NamelessCode> all = nameless_code(profile, counts);
  size_t shown = top == 0 ? all.size() : std::min(top, all.size());
  for (const NamelessCode& code : std::span(all).first(shown))
    note.rows.push_back({with_commas(code.frames), code.name, code.remedy});
  if (shown < all.size())
    note.rest = fmt::format("{} of {} rows; --top 0 shows all", shown, all.size());
  notes.push_back(std::move(note));
}

// The share of the samples that is in code without a name, the image that has most of it, and
// the remedy; nothing if it is less than half a percent.
void add_nameless_share(const Profile& profile, Notes& notes) {
  std::map<std::pair<std::string, std::string>, uint64_t> amounts;  // by name and remedy
  uint64_t unnamed = 0;
  // By leaf: a frame without a name further out changes no function's own time.
  for (const SampleCount& sample : profile.samples) {
    std::span<const LocationId> stack = profile.stack(sample.stack);
    if (stack.empty())
      continue;
    const Location& leaf = profile.locations[to_index(stack.front())];
    if (profile.is_named(leaf))
      continue;
    unnamed += profile.amount(sample);
    const ProfileImage& image = profile.image_of(leaf.mapping);
    amounts[{unnamed_group(leaf.unnamed, image), remedy_of(leaf.unnamed, image)}] +=
        profile.amount(sample);
  }
  double share = percent(unnamed, profile.total_amount());
  if (share < kLeastTold)
    return;
  // A share above 0 is of some entry, so that there is a largest one.
  auto most =
      std::ranges::max_element(amounts, {}, [](const auto& entry) { return entry.second; });
  notes.push_back(
      {"unnamed", fmt::format("{:.1f} % of the samples, {:.1f} % in {}: {}{}", share,
                              percent(most->second, profile.total_amount()), most->first.first,
                              most->first.second, amounts.size() > 1 ? "; -v lists all" : "")});
}

Notes make_notes(const Profile& profile, bool is_verbose, size_t top) {
  // Damage comes first: it may be the reason for all that follows.
  Notes notes = damage_notes(profile);
  add_few(profile, notes);
  add_truncated(profile, notes);
  add_losses(profile, notes);
  add_unsampled(profile, notes);
  add_sampler(profile, notes);
  add_known(profile, notes);
  if (std::string containers = list_containers(profile); !containers.empty())
    notes.push_back({"containers", std::move(containers)});
  // The first set is that of samples without labels.
  if (profile.label_sets.size() > 1)
    notes.push_back({"labels", list_labels(profile)});
  if (!is_verbose) {
    add_nameless_share(profile, notes);
    return notes;
  }
  add_repaired(profile, notes);
  add_sources(profile, notes);
  for (StackPart part : {StackPart::kUser, StackPart::kKernel})
    add_nameless(profile, part, top, notes);
  return notes;
}

}  // namespace

std::string line_of(const Note& note, size_t indent) {
  return note.title.empty() ? note.text
                            : fmt::format("{:<{}}{}", note.title, indent, note.text);
}

std::vector<std::string> lines_of(const Note& note) {
  std::vector<std::string> lines = {line_of(note)};
  size_t width = 0;
  for (const Note::Row& row : note.rows)
    width = std::max(width, row.name.size());
  for (const Note::Row& row : note.rows)
    lines.push_back(fmt::format("{:>10}  {:<{}}  {}", row.amount, row.name, width, row.text));
  // The rest stands below what it is the rest of: the rows, or else the text.
  if (!note.rest.empty())
    lines.push_back(std::string(note.rows.empty() ? kNoteIndent : 0, ' ') + note.rest);
  return lines;
}

About make_about(const Profile& profile, const Amounts& amounts, const AboutOptions& options) {
  return {make_headline(profile, amounts, options.screen.width),
          make_facts(profile, amounts, options),
          make_notes(profile, options.is_verbose, options.top)};
}

std::vector<Note> damage_notes(const Profile& profile) {
  Notes notes;
  for (const std::string& what : profile.damage)
    notes.push_back({"damaged", what});
  return notes;
}

std::string make_headline(const Profile& profile, const Amounts& amounts, size_t width) {
  std::string text = headline(profile, amounts, /*has_event=*/true);
  // The event's name goes first: CPU time says as much.
  if (display_width(text) <= width || !profile.measures_cpu_time())
    return text;
  return headline(profile, amounts, /*has_event=*/false);
}

}  // namespace gosym
