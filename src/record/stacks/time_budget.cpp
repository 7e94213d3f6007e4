#include "record/stacks/time_budget.h"

#include "base/clock.h"

namespace gosym {

namespace {

constexpr uint64_t kFirst = 100'000'000;
constexpr uint64_t kShare = 50;

}  // namespace

TimeBudget::TimeBudget() : begin_ns_(monotonic_ns()) {}

uint64_t TimeBudget::cpu_time() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool TimeBudget::has_left() const {
  return spent_ns_ < kFirst + (monotonic_ns() - begin_ns_) / kShare;
}

}  // namespace gosym
