#pragma once

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

}  // namespace gosym::browser
