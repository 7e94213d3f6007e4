#include "proc/cpu_time.h"

#include <fmt/core.h>
#include <unistd.h>

#include <set>

#include "base/mapped_file.h"
#include "base/text.h"

namespace gosym::proc {

namespace {

// /proc/stat has a line for each CPU, and one with a number for each interrupt.
constexpr size_t kMaxAccountSize = 4 << 20;

// Beyond this the kernel has not counted: 584 years less what would overflow.
constexpr uint64_t kMostTime = UINT64_MAX / 2;

std::optional<uint64_t> times(std::optional<uint64_t> number, uint64_t factor) {
  if (!number || factor == 0 || *number > kMostTime / factor)
    return std::nullopt;
  return *number * factor;
}

std::optional<std::string> account(const std::string& path) {
  auto text = read_file(path, kMaxAccountSize);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

// Takes the numbers behind "cpuN".
std::optional<uint64_t> idle_ticks(std::string_view numbers) {
  // user, nice and system come first.
  for (int i = 0; i < 3; i++)
    take_word(numbers);
  auto idle = parse_decimal(take_word(numbers));
  auto iowait = parse_decimal(take_word(numbers));
  if (!idle || !iowait || *idle > kMostTime || *iowait > kMostTime)
    return std::nullopt;
  return *idle + *iowait;
}

}  // namespace

std::optional<uint64_t> parse_thread_time(std::string_view schedstat) {
  return times(parse_decimal(take_word(schedstat)), 1);
}

std::optional<uint64_t> thread_time(uint32_t tid) {
  auto text = account(fmt::format("/proc/{}/schedstat", tid));
  return text ? parse_thread_time(*text) : std::nullopt;
}

std::optional<uint64_t> parse_cgroup_time(std::string_view cpu_stat) {
  while (!cpu_stat.empty()) {
    std::string_view line = take_line(cpu_stat);
    if (take_word(line) == "usage_usec")
      return times(parse_decimal(take_word(line)), 1000);
  }
  return std::nullopt;
}

std::optional<uint64_t> cgroup_time(const std::string& directory) {
  auto text = account(directory + "/cpu.stat");
  return text ? parse_cgroup_time(*text) : std::nullopt;
}

std::optional<uint64_t> parse_idle_time(std::string_view stat, std::span<const uint32_t> cpus,
                                        uint64_t ticks_per_second) {
  std::set<uint32_t> missing(cpus.begin(), cpus.end());
  uint64_t sum = 0;
  while (!stat.empty()) {
    std::string_view line = take_line(stat);
    std::string_view name = take_word(line);
    // The line "cpu" without a number is the sum of all.
    auto cpu = name.starts_with("cpu") ? parse_decimal(name.substr(3)) : std::nullopt;
    if (!cpu || *cpu > UINT32_MAX || missing.erase(static_cast<uint32_t>(*cpu)) == 0)
      continue;
    auto ticks = idle_ticks(line);
    if (!ticks || *ticks > kMostTime - sum)
      return std::nullopt;
    sum += *ticks;
  }
  // The kernel counts in ticks, here as in /proc/PID/stat.
  constexpr uint64_t kSecond = 1'000'000'000;
  return missing.empty() && ticks_per_second != 0 ? times(sum, kSecond / ticks_per_second)
                                                  : std::nullopt;
}

std::optional<uint64_t> idle_time(std::span<const uint32_t> cpus) {
  auto text = account("/proc/stat");
  return text ? parse_idle_time(*text, cpus, static_cast<uint64_t>(sysconf(_SC_CLK_TCK)))
              : std::nullopt;
}

}  // namespace gosym::proc
