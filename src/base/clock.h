#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

namespace gosym {

template <class Integer>
constexpr double to_seconds(Integer nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

// The time that a clock of clock_gettime(2) shows, in nanoseconds: in a time namespace a
// monotonic clock is not the kernel's.
inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// CLOCK_MONOTONIC of the kernel, in nanoseconds, by which it stamps samples and events in any
// time namespace. Where the offset of our own is not known it is taken for 0.
uint64_t monotonic_ns();

// The nanoseconds by which CLOCK_MONOTONIC of a process is ahead of the kernel's, by its time
// namespace (time_namespaces(7)). `process` is its directory, such as /proc/self. None: not
// known. The kernel shows the offset of a process's children only, whose namespace is another
// if it made one for them; up to Linux 6.2 it keeps its own through execve(2).
std::optional<int64_t> monotonic_offset_of(const std::string& process);

}  // namespace gosym
