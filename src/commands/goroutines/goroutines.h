#pragma once

#include "commands/goroutines/views.h"
#include "profile/profile.h"

namespace gosym {

// The goroutines that are shown, as samples of the event "goroutine": each stands for one, and
// has what it does or waits for as its state, and its own labels.
Profile profile_of(const NamedGoroutines& named, const GoroutineView& view,
                   const GoroutineSource& source);

}  // namespace gosym
