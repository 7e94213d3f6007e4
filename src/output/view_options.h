#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "output/table.h"
#include "page/source_text.h"
#include "view/frame_keys.h"
#include "view/selection.h"

namespace gosym {

// The views of a profile.
enum class View : uint8_t {
  kSummary,   // the table of functions, and the largest paths of the tree
  kTree,      // from the root
  kInverted,  // from the leaf
  kCallers,   // of a function
  kCallees,
  kLines,  // of a function
};

enum class SortBy : uint8_t { kSelf, kTotal, kName };

class Amounts;
struct Profile;
struct ViewOptions;

// The lines of functions as text, where a view of them has more to show than their numbers.
using WriteLines = std::function<std::string(const Profile& profile, const ViewOptions& options,
                                             const Amounts& amounts)>;

struct ViewOptions {
  View view = View::kSummary;
  std::optional<FunctionChoice> function = {};  // of kCallers, kCallees and kLines
  std::vector<Dimension> by = {};               // each within the one before
  std::optional<size_t> top = {};               // rows of a table, 0 for all; none: as fits
  SortBy sort = SortBy::kSelf;
  bool has_counts = false;       // tables have the number of samples
  double least_percent = 1;      // nodes of a tree that have less are left out
  uint32_t depth = UINT32_MAX;   // of a tree
  bool folds_recursion = false;  // in trees; the paths of the summary always do
  bool is_verbose = false;       // with all notes
  Screen screen = {};
  std::vector<SourceText> sources = {};  // that a page is to hold
  WriteLines write_lines = {};           // of kLines; none: a table

  // The largest number of rows that a table may have.
  size_t limit(size_t otherwise) const {
    return top ? (*top == 0 ? SIZE_MAX : *top) : otherwise;
  }
};

}  // namespace gosym
