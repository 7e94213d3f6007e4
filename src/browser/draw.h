#pragma once

#include "browser/answer.h"
#include "browser/grid.h"
#include "browser/state.h"

namespace gosym::browser {

// The screen. `is_old` says that the answer is not yet the one to the state's query.
Grid draw(const State& state, const Answer& answer, bool is_old = false);

// The screen while there is no answer yet: what is being done.
Grid draw_waiting(Size size, std::string_view title, std::string_view what);

}  // namespace gosym::browser
