#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "view/call_tree.h"
#include "view/frame_keys.h"
#include "view/selection.h"

namespace gosym::browser {

// Samples of which a dimension has this text, or has another.
struct Pick {
  Dimension dimension;
  std::string text;
  bool is_left_out = false;

  bool operator==(const Pick&) const = default;
};

// Steps of time (Profile::time_step), `end` not included.
struct Steps {
  uint32_t begin = 0;
  uint32_t end = UINT32_MAX;

  auto operator<=>(const Steps&) const = default;
};

// A question of the browser about a profile. The answer takes up to a second to compute if
// there are a million samples.
struct Query {
  uint32_t event = 0;  // index of what was recorded
  // The samples and frames that are selected.
  Selection selection = {};
  std::vector<Pick> picks = {};
  Steps time = {};
  // The kind of entries, and the shape of the tree.
  Dimension::Kind by = Dimension::Kind::kFunction;  // of frames
  Direction direction = Direction::kFromRoot;
  bool folds = false;                  // recursions of the tree
  std::vector<Dimension> groups = {};  // above the tree
  bool is_by_program = true;           // if there are no others, and several programs
  // The entry whose callers and callees are wanted, and the function whose code is; empty:
  // none.
  ChosenKey centre = {};
  ChosenKey code = {};
  std::optional<Pattern> search = {};
  std::optional<Dimension> menu = {};  // whose texts are wanted, with what each has
};

bool is_same(const Query& a, const Query& b);
// True if both select the same samples and frames.
bool selects_same(const Query& a, const Query& b);
// The selection in words; empty if nothing was left out.
// `time_step`: the nanoseconds of a step of Query::time.
std::vector<std::string> words_of(const Query& query, uint64_t time_step);

}  // namespace gosym::browser
