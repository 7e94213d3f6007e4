#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/pattern.h"
#include "output/screen.h"
#include "view/dimension.h"

namespace gosym {

// What of a profile is shown.
enum class View : uint8_t {
  kSummary,   // the table of functions, and the largest paths of the tree
  kTree,      // from the root
  kInverted,  // from the leaf
  kCallers,   // of a function
  kCallees,
  kLines,  // of a function
};

enum class SortBy : uint8_t { kSelf, kTotal, kName };

struct ViewOptions {
  View view = View::kSummary;
  std::optional<Pattern> function = {};  // of kCallers, kCallees and kLines
  std::vector<Dimension> by = {};        // each within the one before
  std::optional<size_t> top = {};        // rows of a table, 0 for all; none: as fits
  SortBy sort = SortBy::kSelf;
  bool has_counts = false;      // tables have the number of samples
  double least_percent = 1;     // nodes of a tree that have less are left out
  uint32_t depth = UINT32_MAX;  // of a tree
  bool is_verbose = false;      // with all notes
  Screen screen = {};
};

}  // namespace gosym
