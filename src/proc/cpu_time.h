#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// CPU time as the kernel charges it, in nanoseconds. None: the kernel does not tell, or not any
// more.

namespace gosym::proc {

// /proc/TID/schedstat: the first of its numbers, in nanoseconds. 0 on a kernel without such an
// account.
std::optional<uint64_t> parse_thread_time(std::string_view schedstat);
std::optional<uint64_t> thread_time(uint32_t tid);

// cpu.stat of a cgroup v2: the line "usage_usec N".
std::optional<uint64_t> parse_cgroup_time(std::string_view cpu_stat);
std::optional<uint64_t> cgroup_time(const std::string& directory);

// /proc/stat: of these CPUs the fourth and the fifth number, idle and iowait, in ticks of
// sysconf(_SC_CLK_TCK), in lines "cpuN user nice system idle iowait ...". None if one of them
// is missing.
std::optional<uint64_t> parse_idle_time(std::string_view stat, std::span<const uint32_t> cpus,
                                        uint64_t ticks_per_second);
std::optional<uint64_t> idle_time(std::span<const uint32_t> cpus);

}  // namespace gosym::proc
