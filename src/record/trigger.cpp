#include "record/trigger.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "proc/cpu_time.h"
#include "record/target.h"

// A trigger of time is a ratio of two sums that only grow: of used to all ticks, of
// microseconds waited to those passed, of a cgroup's CPU time to time. Each look takes both
// sums and divides what was added since the look before. It has happened when the ratio is
// above the limit and was not at that look, so that a machine that stays busy makes one
// recording and not one a second.

namespace gosym {

namespace {

constexpr size_t kMaxStat = 1 << 20;  // 4096 CPUs have some 300 KiB

// "80%" is 0.8; "2" is 2.
std::optional<double> parse_limit(std::string_view text, bool is_percent) {
  if (is_percent != text.ends_with('%'))
    return {};
  if (is_percent)
    text.remove_suffix(1);
  double number = 0;
  auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  // "inf" and "nan", which from_chars reads as well, are refused by the range.
  bool is_number =
      problem == std::errc() && end == text.data() + text.size() && number >= 0 && number < 1e6;
  return is_number ? std::optional(is_percent ? number / 100 : number) : std::nullopt;
}

bool file_exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

}  // namespace

std::optional<uint64_t> parse_pressure(std::string_view text, bool is_full) {
  constexpr std::string_view kTotal = " total=";
  std::string_view wanted = is_full ? "full " : "some ";
  while (!text.empty()) {
    std::string_view line = take_line(text);
    size_t total = line.find(kTotal);
    if (line.starts_with(wanted) && total != line.npos)
      return parse_decimal(line.substr(total + kTotal.size()));
  }
  return {};
}

std::optional<CpuTicks> parse_cpu_ticks(std::string_view stat) {
  constexpr size_t kIdle = 3;
  constexpr size_t kWaiting = 4;
  // user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user's and
  // nice's.
  constexpr size_t kAll = 8;  // what comes behind is counted in these
  std::string_view line = take_line(stat);
  if (!line.starts_with("cpu "))
    return {};
  CpuTicks ticks;
  size_t index = 0;
  for (std::string_view word : split(line.substr(4), ' ')) {
    if (word.empty())
      // Two spaces follow "cpu".
      continue;
    auto number = parse_decimal(word);
    if (!number)
      return {};
    if (index < kAll)
      ticks.all += *number;
    if (index < kAll && index != kIdle && index != kWaiting)
      ticks.used += *number;
    index++;
  }
  return index > kWaiting ? std::optional(ticks) : std::nullopt;
}

std::optional<Trigger> Trigger::parse(std::string_view text) {
  constexpr std::string_view kFileWord = "file:";
  constexpr std::string_view kCgroupWord = "cgroup:";
  constexpr std::string_view kOfCpu = ".cpu";
  Trigger trigger;
  trigger.text_ = text;
  if (text.starts_with(kFileWord)) {
    trigger.kind_ = Kind::kFile;
    trigger.path_ = text.substr(kFileWord.size());
    return trigger.path_.empty() ? std::nullopt : std::optional(std::move(trigger));
  }
  // The sign is looked for from behind, since the path of a cgroup may have one.
  size_t sign = text.rfind('>');
  if (sign == text.npos)
    return {};
  std::string_view what = text.substr(0, sign);
  bool is_cgroup = what.starts_with(kCgroupWord) && what.ends_with(kOfCpu) &&
                   what.size() > kCgroupWord.size() + kOfCpu.size();
  auto limit = parse_limit(text.substr(sign + 1), !is_cgroup);
  if (!limit)
    return {};
  trigger.limit_ = *limit;
  if (is_cgroup) {
    trigger.kind_ = Kind::kCgroup;
    // The path is as it was given: open() makes it that of the directory.
    trigger.path_ =
        what.substr(kCgroupWord.size(), what.size() - kCgroupWord.size() - kOfCpu.size());
    return trigger;
  }
  trigger.path_ = "/proc/stat";
  if (what == "cpu")
    return trigger;
  std::vector<std::string_view> parts = split(what, '.');
  bool is_pressure = parts.size() == 3 && parts[0] == "psi" &&
                     (parts[1] == "cpu" || parts[1] == "memory" || parts[1] == "io") &&
                     (parts[2] == "some" || parts[2] == "full");
  if (!is_pressure)
    return {};
  trigger.kind_ = Kind::kPressure;
  trigger.is_full_ = parts[2] == "full";
  trigger.path_ = "/proc/pressure/" + std::string(parts[1]);
  return trigger;
}

Result<Trigger> Trigger::open(std::string_view text) {
  auto trigger = parse(text);
  if (!trigger)
    return errorf("'{}' is not cpu>80%, psi.cpu.some>30%, cgroup:PATH.cpu>2 or file:PATH",
                  printable(text))
        .with_exit_status(kUsage);
  if (trigger->kind_ == Kind::kCgroup) {
    auto directory = find_cgroup(trigger->path_);
    if (!directory)
      return std::move(directory).error();
    trigger->path_ = *std::move(directory);
  }
  // PSI is asked for once beforehand, the time being of no account: a kernel may be built
  // without it, or have it switched off.
  if (trigger->kind_ == Kind::kPressure && !trigger->look(0))
    return errorf("'{}': this kernel does not tell of pressure", printable(text))
        .with_hint("PSI takes Linux 4.20, and the parameter psi=1 where it is off at first")
        .with_exit_status(kUnsupported);
  return *std::move(trigger);
}

// Both sums have one unit, or their ratio means nothing: nanoseconds, but ticks in /proc/stat,
// which has the whole as well.
std::optional<Trigger::Sums> Trigger::look(uint64_t now) const {
  constexpr uint64_t kNsOfMicrosecond = 1000;
  if (kind_ == Kind::kCgroup) {
    auto used = proc::cgroup_time(path_);
    return used ? std::optional(Sums{*used, now}) : std::nullopt;
  }
  auto text = read_file(path_, kMaxStat);
  if (!text)
    return {};
  if (kind_ == Kind::kPressure) {
    auto waited = parse_pressure(*text, is_full_);
    return waited ? std::optional(Sums{*waited * kNsOfMicrosecond, now}) : std::nullopt;
  }
  auto ticks = parse_cpu_ticks(*text);
  return ticks ? std::optional(Sums{ticks->used, ticks->all}) : std::nullopt;
}

// A cgroup that has gone, and one that came anew, tells nothing of the time between.
bool Trigger::is_so(uint64_t now) {
  if (kind_ == Kind::kFile)
    // A file either is there or is not: no ratio, and true from the first look on.
    return file_exists(path_);
  auto sums = look(now);
  auto before = std::exchange(before_, sums);
  // The first look has nothing to compare with.
  if (!sums || !before || sums->part < before->part || sums->whole <= before->whole)
    return false;
  last_ = static_cast<double>(sums->part - before->part) /
          static_cast<double>(sums->whole - before->whole);
  return last_ > limit_;
}

bool Trigger::has_happened(uint64_t now) {
  bool is = is_so(now);
  return !std::exchange(was_so_, is) && is;
}

std::string Trigger::reason() const {
  switch (kind_) {
    case Kind::kFile:
      return printable(text_);
    case Kind::kCgroup:
      return fmt::format("{}, and was {:.2f}", printable(text_), last_);
    default:
      return fmt::format("{}, and was {:.1f} %", printable(text_), 100 * last_);
  }
}

}  // namespace gosym
