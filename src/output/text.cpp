#include "output/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "output/unnamed.h"
#include "profile/function_totals.h"

namespace gosym {

namespace {

constexpr size_t kMaxProcessesShown = 5;  // unless all is to be shown
constexpr size_t kMaxLabelsShown = 10;
// A longer name pushes the rest of its own row, not that of all rows.
constexpr size_t kMaxNameWidth = 56;

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double seconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

double cpu_seconds(const Profile& profile, uint64_t samples) {
  return seconds(samples * profile.period_ns());
}

std::string utc_time(uint64_t realtime_ns) {
  auto time = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

struct Process {
  uint32_t pid;
  StringId comm;  // the name that most of its samples have
  uint64_t count;
};

// The most samples first.
std::vector<Process> find_processes(const Profile& profile) {
  std::map<std::pair<uint32_t, StringId>, uint64_t> counts;
  for (const SampleCount& sample : profile.samples)
    counts[{sample.pid, sample.comm}] += sample.count;

  std::vector<Process> processes;
  uint64_t most = 0;
  for (const auto& [name, count] : counts) {
    if (processes.empty() || processes.back().pid != name.first) {
      processes.push_back({name.first, name.second, 0});
      most = 0;
    }
    processes.back().count += count;
    if (count > most)
      processes.back().comm = name.second;
    most = std::max(most, count);
  }
  std::ranges::stable_sort(processes, std::greater<>(), &Process::count);
  return processes;
}

// "demo (4242) 98.2 %, kworker/0:1 (77) 1.8 %"
std::string list_processes(const Profile& profile, size_t limit) {
  std::vector<Process> processes = find_processes(profile);
  size_t shown = std::min(processes.size(), limit);
  std::vector<std::string> items;
  for (const Process& process : std::span(processes).first(shown))
    items.push_back(fmt::format("{} ({}) {:.1f} %", printable(profile.strings[process.comm]),
                                process.pid, percent(process.count, profile.total_count())));
  if (shown < processes.size())
    items.push_back(fmt::format("and {} more", processes.size() - shown));
  return fmt::format("{}", fmt::join(items, ", "));
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
  return fmt::format("{}", fmt::join(items, ", "));
}

std::string make_loss(const RecordingStats& stats) {
  std::string text;
  uint64_t taken = stats.samples + stats.lost_samples;
  if (stats.lost_samples > 0)
    text +=
        fmt::format("lost       {} of {} samples ({:.1f} %)\n", with_commas(stats.lost_samples),
                    with_commas(taken), percent(stats.lost_samples, taken));
  if (stats.lost_events > 0)
    text += fmt::format("lost       {} events; mappings and names may be missing\n",
                        with_commas(stats.lost_events));
  return text;
}

// Threads of the Go runtime have a stack like this now and then; a few change no figure.
std::string make_cut(const Profile& profile) {
  constexpr double kNoticed = 1;
  double share = percent(profile.unwound.cut, profile.total_count());
  if (share < kNoticed)
    return {};
  return fmt::format("cut short  {:.1f} % of the stacks lack callers: total % is too low\n",
                     share);
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
  uint64_t count = profile.total_count();

  std::string text =
      fmt::format("{} samples of {} at {} Hz: {:.2f} s of CPU time in {:.2f} s\n",
                  with_commas(count), printable(info.event), info.frequency,
                  cpu_seconds(profile, count), seconds(profile.duration_ns));
  text += fmt::format("recorded   {} on {}, Linux {} {}\n", utc_time(profile.start_realtime_ns),
                      printable(info.host), printable(info.kernel_release),
                      printable(info.machine));
  text += fmt::format("by         {}\n", printable(info.command_line));
  text += fmt::format("processes  {}\n", list_processes(profile, max_processes));
  if (profile.label_sets.size() > 1)
    text += fmt::format("labels     {}\n", list_labels(profile));
  if (!profile.filter.empty())
    text += fmt::format("only       {}\n", printable(profile.filter));
  return text + make_cut(profile) + make_loss(profile.stats);
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

  std::string text = fmt::format("{:>7} {:>9} {:>8} {:>9}  {:<{}}  {}\n", "self %", "self s",
                                 "total %", "total s", "function", width, "hottest line");
  uint64_t all = profile.total_count();
  for (size_t i = 0; i < shown; i++) {
    const FunctionTotal& total = totals[i];
    std::string row = fmt::format("{:>7.2f} {:>9.2f} {:>8.2f} {:>9.2f}  {:<{}}  {}",
                                  percent(total.self, all), cpu_seconds(profile, total.self),
                                  percent(total.total, all), cpu_seconds(profile, total.total),
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
