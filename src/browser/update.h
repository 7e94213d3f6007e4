#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "browser/answer.h"
#include "browser/state.h"

namespace gosym::browser {

// Changes the state by a key. Returns what the session has to do besides.
Effect update(State& state, const Key& key, const Answer& answer);

// After a new answer, or a new size: cursors stay on what they are on where that is there
// still, and are on the screen.
void settle(State& state, const Answer& answer);

// The entry that the cursor is on; null if there is none.
const ViewKey* entry_at_cursor(const State& state, const Answer& answer);

// The text behind the key ?: the keys, by what they are for, in lines of no more than `width`
// columns.
std::vector<std::string> help_lines(bool is_live, size_t width);
// The keys as its rows have them: "+ - *", "Esc, Backspace"; those that only a live session has,
// or all others.
std::vector<std::string_view> help_keys(bool is_live);

// One of the formats that the view can be exported in.
struct ExportChoice {
  char key;
  std::string_view format;     // the name of a Format
  std::string_view extension;  // of the file
};
std::span<const ExportChoice> export_choices();

}  // namespace gosym::browser
