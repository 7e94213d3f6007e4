#include "browser/flame.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace gosym::browser {

namespace {

class FlameBoxes {
public:
  FlameBoxes(const CallTree& tree, uint64_t whole, size_t width)
      : nodes_(tree.nodes), whole_(whole), width_(width) {}

  // The box of a node, which begins behind so much of the whole, and all below it. By a list
  // of its own: a tree may be a hundred thousand calls deep.
  std::vector<FlameBox> below(uint32_t top) {
    struct Pending {
      uint32_t node;
      uint64_t begin;
    };
    std::vector<Pending> pending = {{top, 0}};
    while (!pending.empty()) {
      auto [node, begin] = pending.back();
      pending.pop_back();
      add(node, begin, nodes_[node].total, 1);
      uint32_t end = node + nodes_[node].size;
      for (uint32_t child = node + 1; child < end; child += nodes_[child].size) {
        // The largest comes first: all others are as narrow.
        if (is_narrow(nodes_[child].total)) {
          add_joined(child, end, begin);
          break;
        }
        pending.push_back({child, begin});
        begin += nodes_[child].total;
      }
    }
    return std::move(boxes_);
  }

private:
  bool is_narrow(uint64_t amount) const {
    return static_cast<double>(amount) * static_cast<double>(width_) <
           static_cast<double>(whole_);
  }

  size_t column(uint64_t amount) const {
    double exact =
        static_cast<double>(amount) * static_cast<double>(width_) / static_cast<double>(whole_);
    return std::min(static_cast<size_t>(std::lround(exact)), width_);
  }

  void add(uint32_t node, uint64_t begin, uint64_t amount, size_t joined) {
    FlameBox box = {.node = node,
                    .row = nodes_[node].depth,
                    .begin = column(begin),
                    .end = column(begin + amount),
                    .joined = joined};
    if (box.begin < box.end)
      boxes_.push_back(box);
  }

  // Brothers from `first` up to the node `end`.
  void add_joined(uint32_t first, uint32_t end, uint64_t begin) {
    uint64_t amount = 0;
    size_t count = 0;
    for (uint32_t child = first; child < end; child += nodes_[child].size) {
      amount += nodes_[child].total;
      count++;
    }
    add(first, begin, amount, count);
  }

  const std::vector<CallNode>& nodes_;
  uint64_t whole_;
  size_t width_;
  std::vector<FlameBox> boxes_;
};

}  // namespace

std::vector<FlameBox> flame_boxes(const PathTree& tree, uint32_t zoomed, size_t width) {
  const std::vector<CallNode>& nodes = tree.tree.nodes;
  if (nodes[zoomed].total == 0 || width == 0)
    return {};
  std::vector<FlameBox> boxes = FlameBoxes(tree.tree, nodes[zoomed].total, width).below(zoomed);
  for (uint32_t i = zoomed; i != 0; i = tree.parents[i])
    boxes.push_back({tree.parents[i], nodes[tree.parents[i]].depth, 0, width});
  std::ranges::sort(boxes, {},
                    [](const FlameBox& box) { return std::tuple(box.row, box.begin); });
  return boxes;
}

}  // namespace gosym::browser
