#include "browser/flame.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace gosym::browser {

std::vector<FlameBox> flame_boxes(const PathTree& tree, uint32_t zoomed, size_t width) {
  const std::vector<CallNode>& nodes = tree.tree.nodes;
  std::vector<FlameBox> boxes;
  uint64_t whole = nodes[zoomed].total;
  if (whole == 0 || width == 0)
    return boxes;
  for (uint32_t i = zoomed; i != 0; i = tree.parents[i])
    boxes.push_back({tree.parents[i], nodes[tree.parents[i]].depth, 0, width});

  // In preorder, each node begins where its elder brother ends, or its parent begins.
  auto column = [&](uint64_t amount) {
    return static_cast<size_t>(std::lround(
        static_cast<double>(amount) * static_cast<double>(width) / static_cast<double>(whole)));
  };
  std::vector<uint64_t> next = {0};  // where the next child of each depth begins
  uint32_t end = zoomed + nodes[zoomed].size;
  for (uint32_t i = zoomed; i < end;) {
    const CallNode& node = nodes[i];
    size_t level = node.depth - nodes[zoomed].depth;
    next.resize(level + 1);
    uint64_t begin = next[level];
    next[level] = begin + node.total;
    FlameBox box = {i, node.depth, column(begin), std::min(column(begin + node.total), width)};
    if (box.begin >= box.end) {
      i += node.size;  // what it calls has no more
      continue;
    }
    boxes.push_back(box);
    next.push_back(begin);
    i++;
  }
  std::ranges::sort(boxes, {},
                    [](const FlameBox& box) { return std::tuple(box.row, box.begin); });
  return boxes;
}

}  // namespace gosym::browser
