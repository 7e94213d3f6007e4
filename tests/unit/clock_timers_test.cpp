#include "record/bpf/clock_timers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace gosym;

TEST_CASE("clock timers: they tick as often as the clock together, at other times each") {
  for (uint64_t tick : {100'000ul, 10'101'010ul, 1'000'000'000ul})
    for (uint32_t count : {16u, 8u, 4u})
      for (double shift : {0.0, 0.25, 0.999}) {
        CAPTURE(tick);
        CAPTURE(count);
        CAPTURE(shift);
        auto periods = slow_timer_periods(tick, count, shift);
        REQUIRE(periods.size() == count);
        double rate = 0;
        for (uint32_t i = 0; i < count; i++) {
          rate += 1.0 / static_cast<double>(periods[i]);
          CHECK(periods[i] % kMaxSlowTimers == i);
          CHECK(periods[i] > tick);
        }
        CHECK(std::abs(rate * static_cast<double>(tick) - 1) < 1e-4);
        auto [least, most] = std::ranges::minmax(periods);
        CHECK(most < 2 * least);
        std::ranges::sort(periods);
        for (size_t i = 1; i < periods.size(); i++)
          CHECK(static_cast<double>(periods[i]) > 1.005 * static_cast<double>(periods[i - 1]));
      }
}

TEST_CASE("clock timers: as many as the limit of open files leaves room for") {
  CHECK(slow_timer_count(1024, 2, 1) == 16);
  CHECK(slow_timer_count(1024, 2, 2) == 16);
  CHECK(slow_timer_count(1024, 16, 1) == 8);
  CHECK(slow_timer_count(1024, 32, 1) == 4);
  CHECK(slow_timer_count(1024, 64, 1) == 0);
  CHECK(slow_timer_count(UINT64_MAX, 8192, 4) == 16);
  CHECK(slow_timer_count(0, 8, 0) == 16);
}
