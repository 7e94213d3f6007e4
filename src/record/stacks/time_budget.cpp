#include "record/stacks/time_budget.h"

#include <algorithm>

#include "base/clock.h"

namespace gosym {

namespace {

// Granted at once: the first look at a program takes more than its share of a short time.
constexpr uint64_t kFirst = 100'000'000;

}  // namespace

TimeBudget::TimeBudget(uint64_t share_of) : share_of_(share_of), begin_ns_(monotonic_ns()) {}

uint64_t TimeBudget::cpu_time() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t TimeBudget::left_ns() const {
  // Never negative: work that took longer than was left is paid off by the time that goes by.
  uint64_t granted = kFirst + (monotonic_ns() - begin_ns_) / share_of_;
  return granted - std::min(granted, spent_ns_);
}

}  // namespace gosym
