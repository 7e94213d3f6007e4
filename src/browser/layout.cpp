#include "browser/layout.h"

#include <algorithm>
#include <array>

namespace gosym::browser {

Layout layout_of(Size size) {
  constexpr size_t kEnough = 14;  // lines, for more than the rows
  bool is_high = size.height >= kEnough;
  Layout layout;
  layout.timeline = is_high ? 2 : 0;
  layout.titles = is_high ? 3 : 2;
  layout.body = layout.titles + 1;
  layout.last = size.height - 1;
  layout.detail = is_high ? layout.last - 1 : 0;
  layout.rows = (is_high ? layout.detail : layout.last) - layout.body;
  return layout;
}

size_t window_rows(Size size) {
  constexpr size_t kAround = 6;  // lines: its frame, and what is seen of the page
  return size.height - std::min(size.height, kAround);
}

size_t window_columns(Size size) {
  constexpr size_t kAround = 6;
  return size.width - std::min(size.width, kAround);
}

Halves halves_of(const Layout& layout) {
  size_t callers = (layout.rows - 1) / 2;
  return {callers, layout.rows - 1 - callers};
}

std::string_view name_of(Page page) {
  constexpr std::array<std::string_view, kPageCount> kNames = {
      "functions", "tree", "callers|callees", "flame graph", "code"};
  return kNames[static_cast<size_t>(page)];
}

std::vector<Tab> tabs_of(Size size) {
  std::vector<Tab> tabs;
  size_t x = 1;
  // On a narrow terminal tabs are their numbers alone.
  constexpr size_t kEnough = 64;
  for (size_t i = 0; i < kPageCount; i++) {
    size_t width = size.width < kEnough ? 1 : 2 + name_of(static_cast<Page>(i)).size();
    tabs.push_back({x, x + width});
    x += width + 2;
  }
  return tabs;
}

uint32_t step_count(const Answer& answer) {
  const Profile& profile = answer.profile();
  uint64_t steps = profile.time_step == 0
                       ? 0
                       : (profile.duration_ns + profile.time_step - 1) / profile.time_step;
  return static_cast<uint32_t>(std::clamp<uint64_t>(
      std::max<uint64_t>(steps, answer.selected->load.size()), 1, kMaxSteps));
}

std::span<const uint32_t> function_rows(const State& state, const Answer& answer) {
  const Entries& entries = *answer.entries;
  std::span<const uint32_t> rows = state.sort == SortBy::kTotal  ? entries.by_total
                                   : state.sort == SortBy::kName ? entries.by_name
                                                                 : entries.by_self;
  return state.has_unnoticed ? rows : rows.first(entries.noticed);
}

// Without a source there are instructions alone.
std::vector<uint32_t> code_rows(const State& state, const Code& code) {
  auto is_source = [](const CodeLine& line) {
    return !line.is_of_instructions && line.total > 0;
  };
  bool has_instructions = state.has_instructions || std::ranges::none_of(code.lines, is_source);
  std::vector<uint32_t> rows;
  for (uint32_t i = 0; i < code.lines.size(); i++) {
    const CodeLine& line = code.lines[i];
    bool is_hot = line.self > 0 || line.total > 0;
    if ((has_instructions || !line.is_of_instructions) && (is_hot || !state.is_hot_only))
      rows.push_back(i);
  }
  return rows;
}

uint32_t node_of(const PathTree& tree, uint64_t path) {
  auto found = std::ranges::find(tree.paths, path);
  return found == tree.paths.end() ? 0 : static_cast<uint32_t>(found - tree.paths.begin());
}

Flame flame_of(const State& state, const Answer& answer) {
  Flame flame;
  flame.zoomed = node_of(*answer.tree, state.zoomed);
  flame.boxes = flame_boxes(*answer.tree, flame.zoomed, state.size.width);
  uint32_t node = node_of(*answer.tree, state.box);
  auto found = std::ranges::find(flame.boxes, node, &FlameBox::node);
  if (found == flame.boxes.end())
    found = std::ranges::find(flame.boxes, flame.zoomed, &FlameBox::node);
  flame.cursor =
      found == flame.boxes.end() ? 0 : static_cast<size_t>(found - flame.boxes.begin());
  return flame;
}

Outline outline_of(State& state, const Answer& answer) {
  Layout layout = layout_of(state.size);
  if (state.page == Page::kTree)
    return {answer.tree.get(), &state.tree, layout.rows};
  Halves halves = halves_of(layout);
  if (state.part == Part::kCentre)
    return {};
  return state.part == Part::kCallees
             ? Outline{answer.callees.get(), &state.callees, halves.callees}
             : Outline{answer.callers.get(), &state.callers, halves.callers};
}

}  // namespace gosym::browser
