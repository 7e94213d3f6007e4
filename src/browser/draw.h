#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "browser/answer.h"
#include "browser/grid.h"
#include "browser/state.h"

namespace gosym::browser {

// The screen. `is_old` says that the answer is not yet the one to the state's query.
Grid draw(const State& state, const Answer& answer, bool is_old = false);

// The screen while there is no answer yet: what is being done.
Grid draw_waiting(Size size, std::string_view title, std::string_view what);

// Lines on an entry of the answer: its whole name, its place, what file it is of, and where the
// name comes from, or why there is none and what would give it one.
std::vector<std::string> details_of(const Answer& answer, const ViewKey& key);

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

// The places of things on the screen: update() and draw() agree on it.

// Less than that shows nothing.
inline constexpr Size kLeastSize = {30, 6};

struct Layout {
  size_t timeline = 0;  // its line; 0: there is no room for one
  size_t titles = 0;    // of columns
  size_t body = 0;      // first line of the rows
  size_t rows = 0;      // how many of them there are
  size_t detail = 0;    // line on what the cursor is on; 0: there is no room
  size_t last = 0;      // the last line
};
Layout layout_of(Size size);
// The rows of a window over it, and the columns of its lines.
size_t window_rows(Size size);
size_t window_columns(Size size);

// The rows of each half of Page::kAround; the function itself stands between.
struct Halves {
  size_t callers = 0;
  size_t callees = 0;
};
Halves halves_of(const Layout& layout);

// The name of a page in the line of tabs.
std::string_view name_of(Page page);
// Columns [begin, end) of each page's name in line 1.
struct Tab {
  size_t begin = 0;
  size_t end = 0;
};
std::vector<Tab> tabs_of(Size size);

// Steps of time that there are, at least 1.
uint32_t step_count(const Answer& answer);

// Rows of Page::kFunctions: indices into the totals of the answer.
// Without those that nobody would notice, unless they are asked for.
std::span<const uint32_t> function_rows(const State& state, const Answer& answer);
// Rows of Page::kCode: indices of the lines that are shown.
std::vector<uint32_t> code_rows(const State& state, const Code& code);

// Its boxes, and the node with the cursor, which is a visible one.
struct Flame {
  std::vector<FlameBox> boxes;
  uint32_t zoomed = 0;
  size_t cursor = 0;  // index of a box
};
Flame flame_of(const State& state, const Answer& answer);

// The node of this path; 0, the root, if there is none.
uint32_t node_of(const PathTree& tree, uint64_t path);

// The list that the cursor is in, of Page::kTree and kAround; its tree is null if there is
// none, and state as well at the function between callers and callees.
struct Outline {
  const PathTree* tree = nullptr;
  OutlineState* state = nullptr;
  size_t rows = 0;  // on the screen
};
Outline outline_of(State& state, const Answer& answer);

}  // namespace gosym::browser
