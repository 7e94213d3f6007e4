#pragma once

#include <cstdint>
#include <vector>

namespace gosym {

// Amounts of steps that follow each other, spread over `count` equal parts of a length; a step
// that lies in two of them is split. `step` and `length` are of one unit.
std::vector<double> spread(const std::vector<uint64_t>& amounts, double step, double length,
                           size_t count);

// How an amount is spread over time, in steps of equal length that grow with the time there is:
// up to 2,000 of them, of a millisecond or more.
class Timeline {
public:
  // `time` is in nanoseconds since it began.
  void add(uint64_t time, uint64_t amount);
  // The amount evenly from one time to another.
  void add_interval(uint64_t begin, uint64_t end, uint64_t amount);

  uint64_t step() const { return step_; }                            // in nanoseconds
  const std::vector<uint64_t>& amounts() const { return amounts_; }  // of each step, in order

  // What each of `count` equal parts of the time up to `duration` has.
  std::vector<double> parts(size_t count, uint64_t duration) const;

private:
  uint64_t step_ = 1'000'000;
  std::vector<uint64_t> amounts_;
};

}  // namespace gosym
