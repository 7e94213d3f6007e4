#pragma once

#include <cstdint>
#include <vector>

namespace gosym {

// Amounts of steps that follow each other, spread over `count` equal parts of a length; a step
// that lies in two of them is split. `step` and `length` are of one unit.
std::vector<double> spread(const std::vector<uint64_t>& amounts, double step, double length,
                           size_t count);

// A round number of nanoseconds, a millisecond or more, so that there are no more steps of it
// than that: 1, 2 or 5 and zeros.
uint64_t round_step(uint64_t duration, uint64_t steps);

// The steps of time, in nanoseconds, that a page keeps of a recording so long: what fits on a
// screen, some 50 rows of seconds, or some thousand columns. What is shown of the time of the
// recording itself has whole ones, or a page read back would show another.
uint64_t step_of_page(uint64_t duration);

// The distribution of an amount over time, in steps of equal length. Steps grow tenfold with
// the time there is: up to 20,000 of them, which are parts of the steps of a page.
class Timeline {
public:
  explicit Timeline(uint64_t step = 1'000'000) : step_(step) {}

  // `time` is in nanoseconds since it began.
  void add(uint64_t time, uint64_t amount);
  // The amount evenly from one time to another.
  void add_interval(uint64_t begin, uint64_t end, uint64_t amount);
  // The amounts of another, which began at that time of this one.
  void add(const Timeline& other, uint64_t begin);

  uint64_t step() const { return step_; }                            // in nanoseconds
  const std::vector<uint64_t>& amounts() const { return amounts_; }  // of each step, in order

  // The amounts of `count` equal parts of the time up to `duration`.
  std::vector<double> parts(size_t count, uint64_t duration) const;

private:
  void lengthen_steps(uint64_t factor);

  uint64_t step_;
  std::vector<uint64_t> amounts_;
};

}  // namespace gosym
