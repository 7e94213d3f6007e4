#pragma once

#include "commands/goroutine_views.h"
#include "profile/profile.h"

namespace gosym {

// The goroutines that are shown, as samples of the event "goroutine": each stands for one, and
// has what it does or waits for as its label "state", beside its own labels.
Profile profile_of(const NamedGoroutines& named, const GoroutineView& view, uint32_t pid);

}  // namespace gosym
