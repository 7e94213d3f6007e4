#include "proc/cpus.h"

#include <set>

#include "base/text.h"
#include "proc/setting.h"

namespace gosym::proc {

namespace {

constexpr uint64_t kMaxCpu = 8191;  // of CONFIG_NR_CPUS

Result<> add_range(std::string_view text, std::set<uint32_t>& cpus) {
  size_t dash = text.find('-');
  auto first = parse_decimal(text.substr(0, dash));
  auto last = dash == text.npos ? first : parse_decimal(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last > kMaxCpu)
    return errorf("'{}' is neither a CPU nor a range of CPUs", printable(text));
  for (uint64_t cpu = *first; cpu <= *last; cpu++)
    cpus.insert(static_cast<uint32_t>(cpu));
  return Ok{};
}

std::vector<uint32_t> cpus_in(const std::string& file) {
  auto cpus = parse_cpu_list(setting(file));
  return cpus ? *std::move(cpus) : std::vector<uint32_t>{0};
}

}  // namespace

Result<std::vector<uint32_t>> parse_cpu_list(std::string_view text) {
  std::set<uint32_t> cpus;
  for (std::string_view range : split(text, ','))
    if (auto added = add_range(range, cpus); !added)
      return std::move(added).error();
  return std::vector<uint32_t>(cpus.begin(), cpus.end());
}

std::vector<uint32_t> online_cpus() {
  return cpus_in("/sys/devices/system/cpu/online");
}

std::vector<uint32_t> possible_cpus() {
  return cpus_in("/sys/devices/system/cpu/possible");
}

}  // namespace gosym::proc
