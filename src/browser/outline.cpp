#include "browser/outline.h"

#include <algorithm>
#include <span>
#include <utility>

namespace gosym::browser {

// A tree becomes lines by a walk that descends into open nodes only. Nodes of a CallTree stand
// in the order of such a walk, each followed by all below it, so that siblings are found by
// adding sizes.

namespace {

bool has_children(const PathTree& tree, uint32_t node) {
  return tree.tree.nodes[node].size > 1;
}

// At first those are open that have a twentieth of all, so that a tree begins as a list
// that can be read. Others are opened by hand.
bool is_open_at_first(const PathTree& tree, uint32_t node) {
  return node == 0 || tree.tree.nodes[node].total * 20 >= tree.tree.nodes[0].total;
}

class RowMaker {
public:
  RowMaker(const PathTree& tree, const OutlineState& state) : tree_(tree), state_(state) {}

  std::vector<OutlineRow> make() && {
    push_children(0, OutlineRow::kNone, 0);
    while (!pending_.empty()) {
      OutlineRow row = pending_.back();
      pending_.pop_back();
      auto number = static_cast<uint32_t>(rows_.size());
      rows_.push_back(row);
      if (row.is_open && row.has_children)
        // A call without siblings stays in its caller's column, so that deep chains are not
        // indented.
        push_children(row.node, row.is_branch ? number : row.parent,
                      row.indent + (row.is_branch ? 1 : 0));
    }
    return std::move(rows_);
  }

private:
  // Puts the children of a node on the stack, the first one on top. `parent` and `indent` are
  // those of their rows (OutlineRow).
  void push_children(uint32_t node, uint32_t parent, uint32_t indent) {
    std::span<const CallNode> nodes = tree_.tree.nodes;
    size_t first = pending_.size();
    for (uint32_t i = node + 1; i < node + nodes[node].size; i += nodes[i].size)
      pending_.push_back({.node = i,
                          .parent = parent,
                          .indent = indent,
                          .has_children = has_children(tree_, i),
                          .is_open = is_open(tree_, i, state_)});
    size_t count = pending_.size() - first;
    for (size_t i = first; i < pending_.size(); i++)
      pending_[i].is_branch = count > 1;
    if (count > 0)
      pending_.back().is_last = true;
    // The first child is on top of the stack.
    std::reverse(pending_.begin() + static_cast<ptrdiff_t>(first), pending_.end());
  }

  const PathTree& tree_;
  const OutlineState& state_;
  std::vector<OutlineRow> rows_;
  std::vector<OutlineRow> pending_;  // a stack of its own: trees may be very deep
};

}  // namespace

bool is_open(const PathTree& tree, uint32_t node, const OutlineState& state) {
  // `toggled` holds the exceptions, so that a new tree opens as it should without being told.
  return is_open_at_first(tree, node) != state.toggled.contains(tree.paths[node]);
}

std::vector<OutlineRow> outline_rows(const PathTree& tree, const OutlineState& state) {
  return RowMaker(tree, state).make();
}

std::string branches_of(const std::vector<OutlineRow>& rows, size_t row, size_t width) {
  constexpr size_t kWidth = 3;  // of a branch
  const OutlineRow& at = rows[row];
  // From the node outward; the outermost are left out where there is no room.
  std::vector<std::string_view> parts;
  if (at.is_branch)
    parts.push_back(at.is_last ? "└─ " : "├─ ");
  for (uint32_t i = at.parent; i != OutlineRow::kNone && (parts.size() + 1) * kWidth <= width;
       i = rows[i].parent)
    parts.push_back(rows[i].is_last ? "   " : "│  ");
  std::string text;
  for (size_t i = parts.size(); i-- > 0;)
    text += parts[i];
  return text;
}

void set_open(const PathTree& tree, uint32_t node, bool open, OutlineState& state) {
  if (!has_children(tree, node))
    return;
  if (is_open_at_first(tree, node) == open)
    state.toggled.erase(tree.paths[node]);
  else
    state.toggled.insert(tree.paths[node]);
}

size_t open_all(const PathTree& tree, uint32_t node, OutlineState& state) {
  std::vector<uint32_t> below;
  for (uint32_t i = node; i < node + tree.tree.nodes[node].size; i++)
    if (has_children(tree, i))
      below.push_back(i);
  size_t count = std::min(below.size(), kMostOpened);
  // No node has more than its parent, and of equals the parent comes first.
  std::ranges::nth_element(
      below, below.begin() + static_cast<ptrdiff_t>(count), [&](uint32_t a, uint32_t b) {
        return std::pair(tree.tree.nodes[b].total, a) < std::pair(tree.tree.nodes[a].total, b);
      });
  for (uint32_t i : std::span(below).first(count))
    set_open(tree, i, true, state);
  return below.size() - count;
}

void close_all(const PathTree& tree, uint32_t node, OutlineState& state) {
  for (uint32_t i = node; i < node + tree.tree.nodes[node].size; i++)
    set_open(tree, i, false, state);
}

}  // namespace gosym::browser
