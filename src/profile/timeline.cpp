#include "profile/timeline.h"

#include <algorithm>

namespace gosym {

namespace {

constexpr uint64_t kMaxTimeSteps = 2000;

}  // namespace

void Timeline::add(uint64_t time, uint64_t amount) {
  while (time / step_ >= kMaxTimeSteps) {
    for (size_t i = 0; i < amounts_.size(); i++) {
      uint64_t taken = amounts_[i];
      amounts_[i] = 0;
      amounts_[i / 2] += taken;
    }
    amounts_.resize((amounts_.size() + 1) / 2);
    step_ *= 2;
  }
  size_t index = time / step_;
  if (index >= amounts_.size())
    amounts_.resize(index + 1);
  amounts_[index] += amount;
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
