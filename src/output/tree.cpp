#include "output/tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace gosym {

namespace {

// The least width of a line that is left for a name, however deep it lies.
constexpr size_t kLeastFunction = 24;

std::vector<uint32_t> children_of(const CallTree& tree, uint32_t node) {
  std::vector<uint32_t> children;
  for (uint32_t i = node + 1; i < node + tree.nodes[node].size; i += tree.nodes[i].size)
    children.push_back(i);
  return children;
}

// Cuts a chain of calls to its ends, "main > run > … 7 calls … > work". The inner one, which
// the samples are in, gets the room that it needs.
std::string cut_chain(std::string_view chain, size_t width) {
  constexpr std::string_view kThen = " > ";
  constexpr std::string_view kLeftOut = " > … > ";
  constexpr size_t kLeastEnd = 12;
  // A chain that fits, a single name, and a screen without room for two ends: each is treated
  // like any name.
  size_t first_end = chain.find(kThen);
  size_t room = width - std::min(width, display_width(kLeftOut));
  if (display_width(chain) <= width || first_end == chain.npos || room < 2 * kLeastEnd)
    return cut_name(chain, width);
  std::string_view first = chain.substr(0, first_end);
  std::string_view last = chain.substr(chain.rfind(kThen) + kThen.size());
  size_t for_first = std::max(kLeastEnd, room - std::min(room, display_width(last)));
  // The outer end may be shorter than its room: the inner one gets what that leaves.
  std::string start = cut_name(first, for_first);
  return start + std::string(kLeftOut) + cut_name(last, room - display_width(start));
}

class TreeText {
public:
  TreeText(const CallTree& tree, const Amounts& amounts, TreeColumns columns,
           const Screen& screen)
      : tree_(tree), amounts_(amounts), columns_(columns), screen_(screen) {}

  std::string make() {
    text_ = styled(columns_ == TreeColumns::kTotal ? "total %  function"
                                                   : "total %  self %  function",
                   Style::kTitle, screen_) +
            '\n';
    for_each_line(tree_, [this](uint32_t node, const std::string& branches) {
      append_line(node, branches);
    });
    return std::move(text_);
  }

private:
  // Numbers have a fixed width and are never cut, branches give way before the name does, and
  // the name gets the rest of the line.
  void append_line(uint32_t of, std::string branches) {
    const CallNode& node = tree_.nodes[of];
    const ViewKey& key = tree_.key_of(node);
    double total = amounts_.percent(node.total);
    std::string numbers = styled(fmt::format("{:>7.2f}", total), heat_of(total), screen_);
    // Total has 7 columns, self 6 behind 2 spaces, and 2 more stand before the name.
    size_t width = 7;
    if (columns_ == TreeColumns::kTotalAndSelf) {
      double self = amounts_.percent(node.self);
      numbers += "  " + styled(fmt::format("{:>6.2f}", self), heat_of(self), screen_);
      width += 8;
    }
    width += 2;
    std::string name = tree_.text_of(node);
    if (screen_.has_width()) {
      size_t room = std::max(kLeastFunction, screen_.width - std::min(width, screen_.width));
      branches = cut_branches(branches, room - kLeastFunction);
      name = cut_chain(name, room - display_width(branches));
    }
    text_ += fmt::format("{}  {}{}\n", numbers, styled(branches, Style::kFaint, screen_),
                         styled(name, style_of(key), screen_));
  }

  const CallTree& tree_;
  const Amounts& amounts_;
  TreeColumns columns_;
  const Screen& screen_;
  std::string text_;
};

}  // namespace

Style style_of(const ViewKey& key) {
  if (key.is_gap || !key.is_named)
    return Style::kFaint;
  return key.is_kernel ? Style::kKernel : Style::kPlain;
}

std::string cut_branches(std::string_view branches, size_t width) {
  while (display_width(branches) > width)
    branches.remove_prefix(first_glyph(branches).size);
  return std::string(branches);
}

void for_each_line(
    const CallTree& tree,
    const std::function<void(uint32_t node, const std::string& branches)>& visit) {
  struct Pending {
    uint32_t node;
    std::string before;  // what stands before its name
    std::string below;   // before the names below it
  };
  // A stack of its own: a tree may be a hundred thousand calls deep.
  std::vector<Pending> pending;
  // The first one comes on top.
  auto push_children = [&](uint32_t node, const std::string& branches) {
    std::vector<uint32_t> children = children_of(tree, node);
    // An only child needs no line of its own: it stands right below its parent.
    if (children.size() == 1)
      pending.push_back({children[0], branches, branches});
    for (size_t i = children.size(); i-- > 0 && children.size() > 1;) {
      bool is_last = i + 1 == children.size();
      pending.push_back({children[i], branches + (is_last ? "└─ " : "├─ "),
                         branches + (is_last ? "   " : "│  ")});
    }
  };
  push_children(0, "");
  while (!pending.empty()) {
    Pending next = std::move(pending.back());
    pending.pop_back();
    visit(next.node, next.before);
    push_children(next.node, next.below);
  }
}

std::string tree_text(const CallTree& tree, const Amounts& amounts, TreeColumns columns,
                      const Screen& screen) {
  return TreeText(tree, amounts, columns, screen).make();
}

}  // namespace gosym
