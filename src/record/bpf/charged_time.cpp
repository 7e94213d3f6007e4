#include "record/bpf/charged_time.h"

#include <bpf/libbpf.h>
#include <sample.h>
#include <sampler.skel.h>

#include <set>

#include "base/clock.h"
#include "proc/cpu_time.h"
#include "proc/process.h"
#include "record/keeper.h"

namespace gosym {

namespace {

std::optional<uint64_t> busy_time(const std::vector<uint32_t>& cpus) {
  // All time that went by on these CPUs, less that in which they were idle.
  auto idle = proc::idle_time(cpus);
  return idle ? std::optional(monotonic_ns() * cpus.size() - *idle) : std::nullopt;
}

std::optional<uint64_t> time_of_cgroups(const std::vector<std::string>& directories) {
  uint64_t sum = 0;
  for (const std::string& directory : directories) {
    auto time = proc::cgroup_time(directory);
    if (!time)
      return std::nullopt;
    sum += *time;
  }
  return sum;
}

// Threads that end while this is read are in one of the three, or rarely in two.
uint64_t time_of_threads(const sampler_bpf& bpf, Keeper& keeper) {
  // Three sources: threads by themselves, those of processes, and those on their way to the
  // end, whose time the BPF program has noted. A thread of two of them counts once.
  std::set<uint32_t> tids;
  for (const auto& [tid, present] : keeper.entries<uint32_t, uint8_t>(bpf.maps.target_tids))
    tids.insert(tid);
  for (const auto& [pid, present] : keeper.entries<uint32_t, uint8_t>(bpf.maps.target_pids))
    for (uint32_t tid : proc::thread_ids(pid))
      tids.insert(tid);
  uint64_t sum = 0;
  for (uint32_t tid : tids)
    sum += proc::thread_time(tid).value_or(0);
  for (const auto& [task, ending] : keeper.entries<uint64_t, gosym_ending>(bpf.maps.ending))
    if (tids.insert(ending.tid).second)
      sum += proc::thread_time(ending.tid).value_or(ending.ran);
  return sum + bpf.bss->ended_ns;
}

}  // namespace

std::optional<uint64_t> charged_time(const Scope& scope, const std::vector<uint32_t>& cpus,
                                     const sampler_bpf& bpf, Keeper& keeper) {
  bool has_threads = !scope.pids.empty() || !scope.tids.empty();
  if (scope.is_system_wide)
    return busy_time(cpus);
  // No account of the kernel is of some CPUs only, and processes may be in cgroups that are
  // named as well.
  if (!scope.cpus.empty() || has_threads == !scope.cgroups.empty())
    return std::nullopt;
  return has_threads ? std::optional(time_of_threads(bpf, keeper))
                     : time_of_cgroups(scope.cgroups);
}

}  // namespace gosym
