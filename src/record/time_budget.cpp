#include "record/time_budget.h"

#include "base/clock.h"

namespace gosym {

namespace {

constexpr uint64_t kFirst = 100'000'000;
constexpr uint64_t kShare = 50;

}  // namespace

TimeBudget::TimeBudget() : begin_ns_(clock_ns(CLOCK_MONOTONIC)) {}

uint64_t TimeBudget::cpu_time() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool TimeBudget::has_left() const {
  return spent_ns_ < kFirst + (clock_ns(CLOCK_MONOTONIC) - begin_ns_) / kShare;
}

}  // namespace gosym
