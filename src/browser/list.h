#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "browser/key.h"

// A list of rows with a cursor: what the pages and windows that consist of lines have in
// common.

namespace gosym::browser {

struct ListState {
  size_t row = 0;  // that has the cursor
  size_t top = 0;  // the first line on the screen
};

// The first line so that the row is on the screen, and no line stays empty without need.
inline size_t top_for(size_t top, size_t row, size_t count, size_t rows) {
  rows = std::max<size_t>(rows, 1);
  if (row < top)
    top = row;
  if (row >= top + rows)
    top = row + 1 - rows;
  return std::min(top, count - std::min(count, rows));
}

inline size_t moved(size_t row, ptrdiff_t by, size_t count) {
  if (count == 0)
    return 0;
  auto to = static_cast<ptrdiff_t>(row) + by;
  return static_cast<size_t>(std::clamp<ptrdiff_t>(to, 0, static_cast<ptrdiff_t>(count) - 1));
}

// The next of so many places that matches, from one of them onward, or backward, and around to
// that one itself; none: none does.
template <class Matches>
std::optional<size_t> find_around(size_t count, size_t from, bool forward, Matches matches) {
  for (size_t i = 1; i <= count; i++)
    if (size_t at = (from + (forward ? i : count - i)) % count; matches(at))
      return at;
  return std::nullopt;
}

// A list for the time that one key is handled. Its rows may be others than those at which the
// cursor was put: then settle() has to come first.
class List {
public:
  // Tells a row from all others, whatever line it stands in; never 0.
  using Identity = std::function<uint64_t(size_t row)>;

  // The cursor stays in its line.
  List(ListState& state, size_t count) : state_(state), count_(count) {}
  // The cursor stays on its row: `chosen` keeps what that is, and 0 before there was one.
  List(ListState& state, size_t count, uint64_t& chosen, Identity identity)
      : state_(state), count_(count), chosen_(&chosen), identity_(std::move(identity)) {}

  size_t count() const { return count_; }
  size_t row() const { return state_.row; }
  size_t row_at(size_t line) const { return state_.top + line; }  // of the screen

  // Puts the cursor into a row that there is.
  void put(size_t row) {
    state_.row = row;
    if (chosen_)
      *chosen_ = identity_(row);
  }

  // Moves the cursor by so many rows, if there are any, and not beyond the ends.
  void move(ptrdiff_t by) {
    if (count_ > 0)
      put(moved(state_.row, by, count_));
  }

  // Puts the cursor into the next row that matches. False: none does.
  template <class Matches>
  bool find(bool forward, Matches matches) {
    auto row = find_around(count_, state_.row, forward, matches);
    if (row)
      put(*row);
    return row.has_value();
  }

  // Puts the cursor on what it was on, where that is there still, and the screen, of so many
  // rows, around it. In an empty list it is at the top; `chosen` is kept, and found again once
  // its row is back.
  void settle(size_t rows) {
    if (count_ == 0) {
      state_ = {};
      return;
    }
    bool is_moved =
        chosen_ && *chosen_ != 0 && (state_.row >= count_ || identity_(state_.row) != *chosen_);
    if (is_moved)
      // find_around() begins behind the row that it is given: from the last one all are
      // searched from the top. Without a match the cursor stays in its line.
      if (auto row = find_around(count_, count_ - 1, true,
                                 [&](size_t at) { return identity_(at) == *chosen_; }))
        state_.row = *row;
    put(std::min(state_.row, count_ - 1));
    state_.top = top_for(state_.top, state_.row, count_, rows);
  }

private:
  ListState& state_;
  size_t count_ = 0;
  uint64_t* chosen_ = nullptr;
  Identity identity_;
};

}  // namespace gosym::browser
