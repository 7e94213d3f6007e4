#pragma once

#include <tsl/robin_set.h>

#include <cstdint>
#include <string>
#include <vector>

#include "browser/answer.h"
#include "browser/list.h"

// A call tree as lines that open and close.

namespace gosym::browser {

// The open nodes, and the cursor, by paths (PathTree): so that they are found again in a tree
// of other samples.
struct OutlineState : ListState {
  // Nodes that are open where others like them are not, or closed.
  tsl::robin_set<uint64_t> toggled = {};
  uint64_t path = 0;  // of the node that has the cursor; 0: the first line
};

struct OutlineRow {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t node = 0;
  uint32_t parent = kNone;  // row of the last branch on the way to it
  uint32_t indent = 0;      // branches on the way to it
  bool is_branch = false;   // it has brothers
  bool is_last = false;     // of these
  bool has_children = false;
  bool is_open = false;
};

bool is_open(const PathTree& tree, uint32_t node, const OutlineState& state);

// All lines. What a node alone calls stands below it without indentation.
std::vector<OutlineRow> outline_rows(const PathTree& tree, const OutlineState& state);

// "│  ├─ ": what stands before the name in a row, of which the outer branches are left out if
// it takes more than `width` columns.
std::string branches_of(const std::vector<OutlineRow>& rows, size_t row, size_t width);

// Opens or closes the node.
void set_open(const PathTree& tree, uint32_t node, bool open, OutlineState& state);

// Opens the node with all below it, but no more than kMostOpened nodes, the largest: the
// millions of a large recording would take seconds each time they are listed. Returns how many
// stay closed.
size_t open_all(const PathTree& tree, uint32_t node, OutlineState& state);
void close_all(const PathTree& tree, uint32_t node, OutlineState& state);
inline constexpr size_t kMostOpened = 10'000;

}  // namespace gosym::browser
