#include "record/event_limits.h"

#include <algorithm>
#include <utility>

namespace gosym {

namespace {

constexpr double kBurst = 1000;
constexpr double kOfProgram = 300;
constexpr double kPerNanosecond = 100 / 1e9;

// Twice the kernel's own default of pid_max (GOSYM_MAX_TARGETS): processes whose end nobody
// heard of count, too.
constexpr size_t kMaxCounted = 65536;

}  // namespace

EventLimits::Allowance& EventLimits::of(uint32_t pid) {
  if (auto known = processes_.find(pid); known != processes_.end())
    return known->second;
  // Forgotten all at once: each gets its burst anew, which costs little.
  if (processes_.size() >= kMaxCounted)
    processes_.clear();
  return processes_.try_emplace(pid, Allowance{.left = kBurst}).first->second;
}

bool EventLimits::admit_mapping(uint32_t pid, uint64_t time) {
  Allowance& allowance = of(pid);
  // A bucket that fills with time: bursts are let through, such as those of a program that
  // begins, and a rate beyond it is not. Events of other CPUs may be older, and fill nothing.
  if (time > allowance.time) {
    uint64_t passed = time - std::exchange(allowance.time, time);
    allowance.left =
        std::min(kBurst, allowance.left + static_cast<double>(passed) * kPerNanosecond);
  }
  if (allowance.left >= 1) {
    allowance.left -= 1;
    return true;
  }
  refused_count_++;
  refused_.insert(pid);
  return false;
}

void EventLimits::fork(uint32_t parent_pid, uint32_t pid) {
  auto parent = processes_.find(parent_pid);
  // A child of one that nothing is known of begins with a full burst, as its parent would.
  if (parent == processes_.end())
    processes_.erase(pid);
  else
    of(pid) = Allowance(parent->second);
}

void EventLimits::exec(uint32_t pid) {
  if (auto known = processes_.find(pid); known != processes_.end())
    known->second.left = std::max(known->second.left, kOfProgram);
}

std::set<uint32_t> EventLimits::take_refused() {
  return std::exchange(refused_, {});
}

}  // namespace gosym
