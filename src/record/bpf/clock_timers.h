#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gosym {

// Limit that bpf/ticks.h sets for the slow timers of a clock.
inline constexpr uint32_t kMaxSlowTimers = 16;

// Ticks of a clock's first timer until those of the slow ones, which are all started at once,
// come evenly.
inline constexpr uint64_t kFirstTimerTicks = 64;

// So many files are open already when timers are opened, or are soon: half of the limit may be
// the side-band's. 16, 8 or 4 slow timers of each clock on each CPU, what is left of the limit
// allows; 0: none, so that the first timer is the only one.
uint32_t slow_timer_count(uint64_t file_limit, size_t cpu_count, size_t clock_count);

// Periods in ns for `count` timers that together tick once each `tick` nanoseconds: none is a
// multiple of another's, none longer than twice another's, and each ends in its number (modulo
// kMaxSlowTimers). `shift`, from 0 to 1, gives each CPU and recording others.
std::vector<uint64_t> slow_timer_periods(uint64_t tick, uint32_t count, double shift);

}  // namespace gosym
