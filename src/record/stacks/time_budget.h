#pragma once

#include <cstdint>

namespace gosym {

// How much of the CPU time of a thread something may take: not more than a fiftieth of the time
// that goes by, after the first tenth of a second.
class TimeBudget {
public:
  TimeBudget();

  bool has_left() const;

  // Does what is to be paid for.
  template <class Work>
  void spend(Work work) {
    uint64_t begin = cpu_time();
    work();
    spent_ns_ += cpu_time() - begin;
  }

private:
  static uint64_t cpu_time();

  uint64_t begin_ns_;
  uint64_t spent_ns_ = 0;
};

}  // namespace gosym
