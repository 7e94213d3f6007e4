#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gosym {

// Ranges of addresses that are laid one over the other: finds which of the first `count` ranges
// is on top at an address.
//
// It is a segment tree over the ends of all ranges, whose nodes list the ranges that cover them
// whole. So any moment can be asked for, in O(log² n), without a copy for each moment; and no
// order of ranges makes it slow.
class RangeHistory {
public:
  struct Range {
    uint64_t start;
    uint64_t limit;  // first address after it
  };

  RangeHistory() = default;
  explicit RangeHistory(std::span<const Range> ranges);

  // The index of the range on top; none if none of the first `count` covers the address.
  std::optional<uint32_t> find(uint64_t address, uint32_t count) const;

private:
  size_t leaf_of(uint64_t bound) const;

  std::vector<uint64_t> bounds_;  // sorted; leaf i is [bounds_[i], bounds_[i + 1])
  // Node 1 is the root, node i has the children 2i and 2i + 1, leaf i is node size + i. The
  // lists are in ascending order.
  std::vector<std::vector<uint32_t>> nodes_;
};

}  // namespace gosym
