#include "profile/range_history.h"

#include <algorithm>

namespace gosym {

RangeHistory::RangeHistory(std::span<const Range> ranges) {
  for (const Range& range : ranges) {
    bounds_.push_back(range.start);
    bounds_.push_back(range.limit);
  }
  std::ranges::sort(bounds_);
  bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
  nodes_.resize(2 * bounds_.size());

  for (uint32_t index = 0; index < ranges.size(); index++) {
    size_t begin = leaf_of(ranges[index].start);
    size_t end = leaf_of(ranges[index].limit);
    for (; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1)
        nodes_[begin++].push_back(index);
      if (end % 2 == 1)
        nodes_[--end].push_back(index);
    }
  }
}

size_t RangeHistory::leaf_of(uint64_t bound) const {
  auto found = std::ranges::lower_bound(bounds_, bound);
  return bounds_.size() + static_cast<size_t>(found - bounds_.begin());
}

std::optional<uint32_t> RangeHistory::find(uint64_t address, uint32_t count) const {
  auto after = std::ranges::upper_bound(bounds_, address);
  if (after == bounds_.begin())
    return std::nullopt;

  std::optional<uint32_t> top;
  size_t leaf = bounds_.size() + static_cast<size_t>(after - bounds_.begin()) - 1;
  for (size_t node = leaf; node > 0; node /= 2) {
    auto past = std::ranges::lower_bound(nodes_[node], count);
    if (past != nodes_[node].begin())
      top = std::max(top.value_or(0), past[-1]);
  }
  return top;
}

}  // namespace gosym
