#include "output/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <map>
#include <set>

#include "base/percent.h"
#include "base/text.h"
#include "output/unnamed.h"
#include "profile/container.h"
#include "profile/function_totals.h"

namespace gosym {

namespace {

constexpr size_t kMaxProcessesShown = 5;  // unless all is to be shown
constexpr size_t kMaxLabelsShown = 10;
// A longer name pushes the rest of its own row, not that of all rows.
constexpr size_t kMaxNameWidth = 56;

double seconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

// "9.05" seconds, or a number of events.
std::string value_text(const Profile& profile, uint64_t amount) {
  uint64_t value = amount * profile.period();
  return profile.measures_time() ? fmt::format("{:.2f}", seconds(value)) : with_commas(value);
}

std::string utc_time(uint64_t realtime_ns) {
  auto time = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  std::array<char, 64> text{};  // a year of 64 bits of seconds has 12 digits
  if (!gmtime_r(&time, &parts))
    return "?";
  size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

struct Process {
  uint32_t pid;
  StringId comm;  // the name that most of its samples have
  uint64_t amount;
};

// The most samples first.
std::vector<Process> find_processes(const Profile& profile) {
  std::map<std::pair<uint32_t, StringId>, uint64_t> counts;
  for (const SampleCount& sample : profile.samples)
    counts[{sample.pid, sample.comm}] += profile.amount(sample);

  std::vector<Process> processes;
  uint64_t most = 0;
  for (const auto& [name, count] : counts) {
    if (processes.empty() || processes.back().pid != name.first) {
      processes.push_back({name.first, name.second, 0});
      most = 0;
    }
    processes.back().amount += count;
    if (count > most)
      processes.back().comm = name.second;
    most = std::max(most, count);
  }
  std::ranges::stable_sort(processes, std::greater<>(), &Process::amount);
  return processes;
}

// "demo (4242) 98.2 %, kworker/0:1 (77) 1.8 %"
std::string list_processes(const Profile& profile, size_t limit) {
  std::vector<Process> processes = find_processes(profile);
  size_t shown = std::min(processes.size(), limit);
  std::vector<std::string> items;
  for (const Process& process : std::span(processes).first(shown))
    items.push_back(fmt::format("{} ({}) {:.1f} %", printable(profile.strings[process.comm]),
                                process.pid, percent(process.amount, profile.total_amount())));
  if (shown < processes.size())
    items.push_back(fmt::format("and {} more", processes.size() - shown));
  return joined(items, ", ");
}

// "3f2a9c01be42 61.0 %, 77ab0e0c4d11 12.4 %", ids as short as docker shows them.
std::string list_containers(const Profile& profile) {
  constexpr size_t kShownId = 12;
  std::map<std::string_view, uint64_t> amounts;
  for (const SampleCount& sample : profile.samples)
    if (std::string_view id = container_id(profile.strings[sample.cgroup]); !id.empty())
      amounts[id.substr(0, kShownId)] += profile.amount(sample);
  std::vector<std::pair<std::string_view, uint64_t>> sorted(amounts.begin(), amounts.end());
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second; });
  std::vector<std::string> items;
  for (const auto& [id, amount] : sorted)
    if (items.size() < kMaxProcessesShown)
      items.push_back(fmt::format("{} {:.1f} %", id, percent(amount, profile.total_amount())));
  if (items.size() < sorted.size())
    items.push_back(fmt::format("and {} more", sorted.size() - items.size()));
  return joined(items, ", ");
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
  if (items.size() < counts.size())
    items.push_back(fmt::format("and {} more", counts.size() - items.size()));
  return joined(items, ", ");
}

// "from 3.1 to 5.2 s on CPU 0 and 1", of what the counts say was lost; empty if nothing tells.
std::string when_lost(const Profile& profile, uint64_t CpuCounts::*what) {
  uint64_t begin = UINT64_MAX;
  uint64_t end = 0;
  std::set<uint32_t> cpus;
  for (const Loss& loss : profile.losses) {
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
  return fmt::format(", from {:.1f} to {:.1f} s on {}", seconds(begin), seconds(end), which);
}

// Samples of perf_event stand for no others, and what they lack is known at the end only.
std::string make_skipped(const Profile& profile) {
  const RecordingStats& stats = profile.stats;
  uint64_t skipped = stats.sum_of(&CpuCounts::skipped);
  bool is_missing = profile.info.sampler == "perf";
  return fmt::format(
      "skipped    {} of {} ticks ({:.1f} %){}: {}\n", with_commas(skipped),
      with_commas(stats.samples + stats.lost_samples + skipped), stats.skipped_percent(),
      is_missing ? fmt::format(", {:.2f} s of CPU time", seconds(skipped * profile.period()))
                 : when_lost(profile, &CpuCounts::skipped),
      why_skipped(profile.info));
}

std::string make_loss(const Profile& profile) {
  const RecordingStats& stats = profile.stats;
  uint64_t throttled = stats.sum_of(&CpuCounts::throttled_ns);
  uint64_t lost_ns = stats.sum_of(&CpuCounts::lost_ns);
  std::string text;
  uint64_t taken = stats.samples + stats.lost_samples;
  if (stats.lost_samples > 0)
    text += fmt::format(
        "lost       {} of {} samples ({:.1f} %){}{}\n", with_commas(stats.lost_samples),
        with_commas(taken), percent(stats.lost_samples, taken),
        lost_ns > 0 ? fmt::format(", {:.2f} s of CPU time", seconds(lost_ns)) : "",
        when_lost(profile, &CpuCounts::lost_samples));
  if (stats.lost_events > 0)
    text += fmt::format("lost       {} events; mappings and names may be missing{}\n",
                        with_commas(stats.lost_events),
                        when_lost(profile, &CpuCounts::lost_events));
  if (stats.skipped_percent() > 0)
    text += make_skipped(profile);
  if (throttled > 0)
    text += fmt::format("throttled  {:.2f} s of CPU time without samples, by the kernel{}\n",
                        seconds(throttled), when_lost(profile, &CpuCounts::throttled_ns));
  return text;
}

// Threads of the Go runtime have a stack like this now and then; a few change no figure.
std::string make_cut(const Profile& profile) {
  constexpr double kNoticed = 1;
  double cut = percent(profile.unwound.cut, profile.total_count());
  double unknown = percent(profile.unwound.unknown, profile.total_count());
  double deep = percent(profile.unwound.deep, profile.total_count());
  std::string text;
  if (deep >= kNoticed)
    text += fmt::format(
        "deep       {:.1f} % of the stacks have more frames than are kept: total % is too low "
        "for functions in their middle\n",
        deep);
  if (cut >= kNoticed)
    text += fmt::format("cut short  {:.1f} % of the stacks lack callers: total % is too low\n",
                        cut);
  if (unknown >= kNoticed)
    text += fmt::format(
        "unknown    {:.1f} % of the stacks end in code without unwind tables: callers may be "
        "missing\n",
        unknown);
  return text;
}

// What was done to the stacks; nothing if they are as the frame pointers told them.
std::string make_stack_note(const Profile& profile) {
  if (profile.unwound.repaired == 0)
    return {};
  return fmt::format("stacks: {:.1f} % completed with callers that frame pointers leave out\n",
                     percent(profile.unwound.repaired, profile.total_count()));
}

std::string make_header(const Profile& profile, size_t max_processes) {
  const RecordingInfo& info = profile.info;
  std::string text = fmt::format(
      "{} samples of {}: {} {} in {:.2f} s\n", with_commas(profile.total_count()),
      printable(event_text(profile.event())), value_text(profile, profile.total_amount()),
      profile.measures_time() ? "s of CPU time" : printable(profile.event().name),
      seconds(profile.duration_ns));
  text += fmt::format("recorded   {} on {}, Linux {} {}\n", utc_time(profile.start_realtime_ns),
                      printable(info.host), printable(info.kernel_release),
                      printable(info.machine));
  text += fmt::format("by         {}\n", printable(info.command_line));
  if (info.sampler == "perf")
    text += fmt::format("sampled    by perf_event's call chains: no goroutines{}\n",
                        info.has_kernel ? "" : ", no kernel code");
  text += fmt::format("processes  {}\n", list_processes(profile, max_processes));
  if (std::string containers = list_containers(profile); !containers.empty())
    text += fmt::format("containers {}\n", containers);
  if (profile.label_sets.size() > 1)
    text += fmt::format("labels     {}\n", list_labels(profile));
  if (!profile.filter.empty())
    text += fmt::format("only       {}\n", printable(profile.filter));
  return text + make_cut(profile) + make_loss(profile);
}

std::string name_of(const Profile& profile, const FunctionTotal& total) {
  if (!total.is_named())
    return unnamed_group(total.unnamed, profile.images[total.image]);
  return printable(profile.strings[profile.functions[to_index(total.function)].name]);
}

// The line where it is hottest; without lines, the image; for code of no file, nothing.
std::string place_of(const Profile& profile, const FunctionTotal& total) {
  std::string_view file;
  if (total.is_named())
    file = profile.strings[profile.functions[to_index(total.function)].file];
  const ProfileImage& image = profile.images[total.image];
  if (file.empty() && image.kind == ProfileImage::Kind::kAnonymous)
    return {};
  if (file.empty())
    return printable(image.file.path);
  return total.hottest_line == 0 ? printable(file)
                                 : fmt::format("{}:{}", printable(file), total.hottest_line);
}

std::string make_table(const Profile& profile, size_t top) {
  std::vector<FunctionTotal> totals = function_totals(profile);
  size_t shown = top == 0 ? totals.size() : std::min(top, totals.size());
  size_t width = std::string_view("function").size();
  for (size_t i = 0; i < shown; i++)
    width = std::max(width, name_of(profile, totals[i]).size());
  width = std::min(width, kMaxNameWidth);

  std::string text = fmt::format("{:>7} {:>9} {:>8} {:>9}  {:<{}}  {}\n", "self %",
                                 profile.measures_time() ? "self s" : "self", "total %",
                                 profile.measures_time() ? "total s" : "total", "function",
                                 width, "hottest line");
  uint64_t all = profile.total_amount();
  for (size_t i = 0; i < shown; i++) {
    const FunctionTotal& total = totals[i];
    std::string row = fmt::format("{:>7.2f} {:>9} {:>8.2f} {:>9}  {:<{}}  {}",
                                  percent(total.self, all), value_text(profile, total.self),
                                  percent(total.total, all), value_text(profile, total.total),
                                  name_of(profile, total), width, place_of(profile, total));
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  if (shown < totals.size())
    text += fmt::format("{} of {} functions; --top 0 shows all\n", with_commas(shown),
                        with_commas(totals.size()));
  return text;
}

}  // namespace

std::string make_text(const Profile& profile, size_t top) {
  std::string text = make_header(profile, top == 0 ? SIZE_MAX : kMaxProcessesShown);
  text += fmt::format("\n{}", make_table(profile, top));
  text +=
      fmt::format("percentages are of these {} samples\n", with_commas(profile.total_count()));
  text += make_source_note(profile);
  text += make_stack_note(profile);
  for (StackPart part : {StackPart::kUser, StackPart::kKernel})
    if (std::string note = make_unnamed_note(profile, part, top); !note.empty())
      text += fmt::format("\n{}", note);
  return text;
}

}  // namespace gosym
