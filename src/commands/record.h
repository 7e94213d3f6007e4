#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "commands/record_options.h"
#include "confine/process_kind.h"
#include "record/keeper.h"
#include "record/recorder.h"
#include "record/sampler.h"
#include "record/target.h"
#include "record/watch.h"

// Messages of commands that record, on standard error.

namespace gosym {

void tell_start(const Sampler& sampler, const RecordingInfo& info,
                const RecordOptions& options);

// Tells what was lost or is missing, once the recording is finished.
void print_warnings(const Recorder::Summary& summary, Stop stop, const RecordingInfo& info,
                    const RecordOptions& options);

// Most of its samples cannot be named by anybody.
bool is_unusable(const Recorder::Summary& summary);

// Processes to sample, and descriptors that tell their end.
struct Targets {
  Scope scope;
  std::vector<UniqueFd> processes;  // readable once one has ended; but a command's
  std::optional<HeldCommand> command;
};

// Starts the command, if there is one: it runs when it is released. `scope` is that of the
// plan.
Result<Targets> open_targets(const RecordOptions& options, const Scope& scope);

// Messages of libbpf itself are told only if they are asked for.
Result<std::unique_ptr<Sampler>> open_sampler(const RecordPlan& plan,
                                              const RecordOptions& options, Keeper& keeper);

// Signals are ours from here on, and end what is there of a recording in order; before, one
// ends us while an output waits for its reader. `parent` is the process that started us.
Result<Watch> open_watch(UniqueFd parent, Targets& targets);

// Gives up all rights, once all is open: the keeper is started, which keeps those to sample,
// and helpers keep those to look at processes and their files. `paths`: what it opens itself;
// if nothing is to be read, all may be.
Result<> confine_recorder(Targets& targets, Keeper& keeper, const ReachablePaths& paths);

// Samples are taken: lets the command run, and the time that was asked for.
Result<> start_watch(Watch& watch, Targets& targets, uint64_t duration_ns);

// The exit status, once the recording is finished. A command that outlives it is asked to end,
// and then its end is our doing and no failure; nor is it one that Ctrl-C ends a stop watch.
int end_command(Stop stop, const HeldCommand& command, Watch& watch,
                const RecordOptions& options);

// A command does not end because its recording did, unless that was what it is for.
Error give_up(Error error, const HeldCommand* command, Watch& watch,
              const RecordOptions& options);

// With --runs N the command is recorded so often, one run after the other, each into a file of
// its own: DIR/1.raw, DIR/2.raw, ... A run has a process of its own, because a recording gives
// up rights that the next one needs.
//
// None in such a process, whose `options` are those of its run; without --runs in this one.
// Else the exit status of all: that of the first run that failed, after which there is no
// other. A signal to end goes on to the run, and ends all with 128 and its number.
std::optional<Result<int>> record_runs(RecordOptions& options);

}  // namespace gosym
