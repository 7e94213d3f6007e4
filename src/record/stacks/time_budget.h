#pragma once

#include <cstdint>

namespace gosym {

// Bounds the CPU time of a thread that some work may take: one part in `share_of` of the time
// that goes by, after the first tenth of a second.
class TimeBudget {
public:
  explicit TimeBudget(uint64_t share_of = 50);

  bool has_left() const { return left_ns() > 0; }
  uint64_t left_ns() const;

  // Does what is to be paid for.
  template <class Work>
  void spend(Work work) {
    uint64_t begin = cpu_time();
    work();
    spent_ns_ += cpu_time() - begin;
  }

  // For this thread.
  static uint64_t cpu_time();

private:
  uint64_t share_of_;
  uint64_t begin_ns_;
  uint64_t spent_ns_ = 0;
};

}  // namespace gosym
