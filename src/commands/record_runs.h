#pragma once

#include <optional>

#include "base/result.h"
#include "commands/record_options.h"

namespace gosym {

// With --runs N the command is recorded so often, one run after the other, each into a file of
// its own: DIR/1.raw, DIR/2.raw, ... A run has a process of its own, because a recording gives
// up rights that the next one needs.
//
// None in such a process, whose `options` are those of its run; without --runs in this one.
// Else the exit status of all: that of the first run that failed, after which there is no
// other. A signal to end goes on to the run, and ends all with 128 and its number.
std::optional<Result<int>> record_runs(RecordOptions& options);

}  // namespace gosym
