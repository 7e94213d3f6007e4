#include "record/bpf/charged_time.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sample.h>
#include <sampler.skel.h>

#include <set>

#include "base/clock.h"
#include "proc/cpu_time.h"
#include "proc/process.h"

namespace gosym {

namespace {

template <class Key>
std::vector<Key> keys_of(const bpf_map* map) {
  std::vector<Key> keys;
  Key key{};
  int fd = bpf_map__fd(map);
  bool has_next = bpf_map_get_next_key(fd, nullptr, &key) == 0;
  // It starts anew where a key goes meanwhile.
  while (has_next && keys.size() < bpf_map__max_entries(map)) {
    keys.push_back(key);
    has_next = bpf_map_get_next_key(fd, &key, &key) == 0;
  }
  return keys;
}

std::optional<uint64_t> busy_time(const std::vector<uint32_t>& cpus) {
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
uint64_t time_of_threads(const sampler_bpf& bpf) {
  std::set<uint32_t> tids;
  for (uint32_t tid : keys_of<uint32_t>(bpf.maps.target_tids))
    tids.insert(tid);
  for (uint32_t pid : keys_of<uint32_t>(bpf.maps.target_pids))
    for (uint32_t tid : proc::thread_ids(pid))
      tids.insert(tid);
  uint64_t sum = 0;
  for (uint32_t tid : tids)
    sum += proc::thread_time(tid).value_or(0);
  for (uint64_t key : keys_of<uint64_t>(bpf.maps.ending)) {
    gosym_ending ending{};
    if (bpf_map_lookup_elem(bpf_map__fd(bpf.maps.ending), &key, &ending) == 0 &&
        tids.insert(ending.tid).second)
      sum += proc::thread_time(ending.tid).value_or(ending.ran);
  }
  return sum + bpf.bss->ended_ns;
}

}  // namespace

std::optional<uint64_t> charged_time(const Scope& scope, const std::vector<uint32_t>& cpus,
                                     const sampler_bpf& bpf) {
  bool has_threads = !scope.pids.empty() || !scope.tids.empty();
  if (scope.is_system_wide)
    return busy_time(cpus);
  if (!scope.cpus.empty() || has_threads == !scope.cgroups.empty())
    return std::nullopt;
  return has_threads ? std::optional(time_of_threads(bpf)) : time_of_cgroups(scope.cgroups);
}

}  // namespace gosym
