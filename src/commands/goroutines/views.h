#pragma once

#include <array>
#include <map>
#include <string>

#include "commands/goroutines/named_goroutines.h"
#include "profile/profile.h"

namespace gosym {

// Selection of goroutines that are shown.
struct GoroutineView {
  bool has_system = false;  // the runtime's own goroutines and functions as well
  // The goroutines that are shown, in the order of `all`; empty: none of them.
  std::vector<const Goroutine*> shown;
};

// Writes one after the other, in the form of Go's tracebacks. Programs that read those read
// these.
std::string traceback_of(const NamedGoroutines& named, const GoroutineView& view);

// Groups goroutines with the same stack, state and place of birth, the largest group first; a
// line before tells how many wait for what.
std::string groups_of(const NamedGoroutines& named, const GoroutineView& view);

// The stack of one, as groups have it, with who created it.
std::string stack_text_of(const NamedGoroutines& named, const Goroutine& goroutine,
                          bool has_system);

// A line for each stack that flamegraph.pl and its like read: "STATE;FRAME;... COUNT",
// outermost frame first. The profile is one of goroutines (profile_of() in goroutines.h).
std::string folded_of(Profile profile);

// Counts goroutines by the values of a key: "state", "function" (the innermost that is shown
// and is not there to wait for others: of sync, time or the like), "creator", "label:KEY".
bool is_goroutine_key(std::string_view key);
std::string counts_of(const NamedGoroutines& named, const GoroutineView& view,
                      std::string_view key);

// Number of goroutines for each state, function and creator.
using GoroutineCounts = std::map<std::array<std::string, 3>, uint64_t>;
GoroutineCounts count_places(const NamedGoroutines& named, const GoroutineView& view);

// Changes from one look to the next, the largest first: leaks grow. Without a look before, the
// largest counts.
std::string changes_of(const GoroutineCounts* before, const GoroutineCounts& now);

// One JSON document; gosym-goroutines(1) has its keys.
std::string json_of(const std::vector<NamedGoroutines>& all,
                    const std::vector<GoroutineView>& views, uint32_t pid);

}  // namespace gosym
