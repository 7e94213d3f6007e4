#pragma once

#include <cstdint>
#include <ctime>

namespace gosym {

// What a clock of clock_gettime(2) shows, in nanoseconds.
inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

}  // namespace gosym
