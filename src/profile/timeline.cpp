#include "profile/timeline.h"

#include <algorithm>
#include <numeric>

namespace gosym {

namespace {

constexpr uint64_t kMaxTimeSteps = 20'000;

}  // namespace

uint64_t round_step(uint64_t duration, uint64_t steps) {
  for (uint64_t unit = 1'000'000;; unit *= 10)
    for (uint64_t step : {unit, 2 * unit, 5 * unit})
      if (step >= duration / steps)
        return step;
}

uint64_t step_of_page(uint64_t duration) {
  constexpr uint64_t kLeast = 20'000'000;
  constexpr uint64_t kSteps = 3000;
  return std::max(kLeast, round_step(duration, kSteps));
}

void Timeline::add(uint64_t time, uint64_t amount) {
  while (time / step_ >= kMaxTimeSteps)
    lengthen_steps(10);
  size_t index = time / step_;
  if (index >= amounts_.size())
    amounts_.resize(index + 1);
  amounts_[index] += amount;
}

void Timeline::lengthen_steps(uint64_t factor) {
  for (size_t i = 0; i < amounts_.size(); i++) {
    uint64_t taken = amounts_[i];
    amounts_[i] = 0;
    amounts_[i / factor] += taken;
  }
  amounts_.resize((amounts_.size() + factor - 1) / factor);
  step_ *= factor;
}

void Timeline::add(const Timeline& other, uint64_t begin) {
  // An amount of a step lies anywhere in it, so that this has no shorter ones.
  if (uint64_t common = std::lcm(step_, other.step_); common > step_)
    lengthen_steps(common / step_);
  for (size_t i = 0; i < other.amounts_.size(); i++)
    if (other.amounts_[i] > 0)
      add(begin + i * other.step_, other.amounts_[i]);
}

void Timeline::add_interval(uint64_t begin, uint64_t end, uint64_t amount) {
  add(end, 0);  // from now on there is room for it
  for (uint64_t step = end / step_; step > begin / step_; step--) {
    uint64_t of_step = end - step * step_;
    auto part =
        static_cast<uint64_t>(static_cast<double>(amount) * static_cast<double>(of_step) /
                              static_cast<double>(end - begin));
    amounts_[step] += part;
    amount -= part;
    end -= of_step;
  }
  amounts_[begin / step_] += amount;
}

std::vector<double> Timeline::parts(size_t count, uint64_t duration) const {
  return spread(amounts_, static_cast<double>(step_), static_cast<double>(duration), count);
}

std::vector<double> spread(const std::vector<uint64_t>& amounts, double step, double length,
                           size_t count) {
  std::vector<double> parts(count);
  if (count == 0 || length == 0)
    return parts;
  double part = length / static_cast<double>(count);
  for (size_t i = 0; i < amounts.size(); i++) {
    double begin = static_cast<double>(i) * step;
    double end = begin + step;
    for (auto at = static_cast<size_t>(begin / part); at < count; at++) {
      double from = std::max(begin, static_cast<double>(at) * part);
      double to = std::min(end, static_cast<double>(at + 1) * part);
      if (to <= from)
        break;
      parts[at] += static_cast<double>(amounts[i]) * (to - from) / step;
    }
  }
  return parts;
}

}  // namespace gosym
