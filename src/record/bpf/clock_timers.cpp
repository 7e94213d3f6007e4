#include "record/bpf/clock_timers.h"

#include <sample.h>

#include <cmath>
#include <numeric>

namespace gosym {

static_assert(GOSYM_TIMERS == kMaxSlowTimers);

uint32_t slow_timer_count(uint64_t file_limit, size_t cpu_count, size_t clock_count) {
  constexpr uint32_t kFewest = 4;
  // Half may be the side-band's (Sideband::has_room_for()), a quarter the archive's
  // (max_open()).
  uint64_t allowed = file_limit / 4;
  for (uint32_t count = kMaxSlowTimers; count >= kFewest; count /= 2)
    // One file for each timer, and one for the first timer of each clock.
    if ((count + 1) * cpu_count * clock_count <= allowed)
      return count;
  return 0;
}

// Multiples of the golden ratio lie apart from each other, however many there are. A spread of
// 0.3 keeps the slowest rate, 0.7, above half of the fastest, 1.3.
std::vector<uint64_t> slow_timer_periods(uint64_t tick, uint32_t count, double shift) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr double kSpread = 0.3;
  std::vector<double> rates;
  for (uint32_t i = 0; i < count; i++) {
    double part = i * kGolden + shift;
    rates.push_back(1 + kSpread * (2 * (part - std::floor(part)) - 1));
  }
  double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  std::vector<uint64_t> periods;
  for (uint32_t i = 0; i < count; i++) {
    // Rates are spread around 1 and scaled so that all timers together tick once a tick.
    auto period = static_cast<uint64_t>(static_cast<double>(tick) * sum / rates[i]);
    // The low bits are the number of the timer, which the BPF program reads from the period.
    periods.push_back(period / kMaxSlowTimers * kMaxSlowTimers + i);
  }
  return periods;
}

}  // namespace gosym
