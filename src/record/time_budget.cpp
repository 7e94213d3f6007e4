#include "record/time_budget.h"

#include <ctime>

namespace gosym {

namespace {

constexpr uint64_t kFirst = 100'000'000;
constexpr uint64_t kShare = 50;

uint64_t ns_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

TimeBudget::TimeBudget() : begin_ns_(ns_of(CLOCK_MONOTONIC)) {}

uint64_t TimeBudget::cpu_time() {
  return ns_of(CLOCK_THREAD_CPUTIME_ID);
}

bool TimeBudget::has_left() const {
  return spent_ns_ < kFirst + (ns_of(CLOCK_MONOTONIC) - begin_ns_) / kShare;
}

}  // namespace gosym
