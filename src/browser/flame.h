#pragma once

#include <cstdint>
#include <vector>

#include "browser/answer.h"

namespace gosym::browser {

// A node of a call tree as a box: as wide as its share of the node that is zoomed to, which has
// the whole width. Those called from one place that have less than a column each are one box.
struct FlameBox {
  uint32_t node = 0;  // the largest of those joined
  size_t row = 0;  // calls below the root of the tree; those around the zoomed one are on top
  size_t begin = 0;
  size_t end = 0;  // columns [begin, end)
  size_t joined = 1;
};

// The zoomed node below those that lead to it, then all below it; row by row, from left to
// right. Node 0 is of all samples.
std::vector<FlameBox> flame_boxes(const PathTree& tree, uint32_t zoomed, size_t width);

}  // namespace gosym::browser
