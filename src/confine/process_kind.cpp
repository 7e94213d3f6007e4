#include "confine/process_kind.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include <algorithm>

#include "confine/capabilities.h"
#include "confine/landlock.h"
#include "confine/system_calls.h"

// One table says for each process what it keeps; enter() applies a row. The order in enter()
// matters: each step takes away what a later one does not need.

namespace gosym {

namespace {

constexpr uint64_t kNoCapability = 0;

// To open what its user may open, root too, and to give a file that is done its name in a
// directory such as /tmp.
constexpr uint64_t kToOpen = uint64_t{1} << CAP_DAC_OVERRIDE |
                             uint64_t{1} << CAP_DAC_READ_SEARCH | uint64_t{1} << CAP_FOWNER;

// To look into processes of others, and at the files that they have mapped.
constexpr uint64_t kToLook = uint64_t{1} << CAP_SYS_PTRACE |
                             uint64_t{1} << CAP_DAC_READ_SEARCH |
                             uint64_t{1} << CAP_CHECKPOINT_RESTORE;

// To take samples of CPUs that come later: CAP_BPF for their rings, which Linux before 5.19
// wants for each use of a map as well. To signal a command that has changed its user.
constexpr uint64_t kToSignal = uint64_t{1} << CAP_KILL;
constexpr uint64_t kToSample = uint64_t{1} << CAP_BPF | uint64_t{1} << CAP_PERFMON | kToSignal;

constexpr ProcessRow kProcessRows[] = {
    {.kind = ProcessKind::kFront,
     .name = "front",
     .task = "starts pager and editor, hands signals on",
     .capabilities = kNoCapability,
     .filter = CallFilter::kNone,
     .paths = PathFilter::kNone,
     .may_execute = true,
     .has_sockets = false},
    {.kind = ProcessKind::kOpener,
     .name = "opener",
     .task = "opens files for the parser",
     .capabilities = kToOpen,
     .filter = CallFilter::kOpening,
     .paths = PathFilter::kNone,
     .may_execute = false,
     .has_sockets = false},
    {.kind = ProcessKind::kParser,
     .name = "parser",
     .task = "reads recordings and binaries",
     .capabilities = kNoCapability,
     .filter = CallFilter::kParsing,
     .paths = PathFilter::kRefused,
     .may_execute = false,
     .has_sockets = false},
    {.kind = ProcessKind::kFetcher,
     .name = "fetcher",
     .task = "fetches debug files into its cache",
     .capabilities = kNoCapability,
     .filter = CallFilter::kFetching,
     .paths = PathFilter::kGiven,
     .may_execute = true,
     .has_sockets = true},
    {.kind = ProcessKind::kStarter,
     .name = "starter",
     .task = "starts the next two",
     .capabilities = kToLook,
     .filter = CallFilter::kStarting,
     .paths = PathFilter::kNone,
     .may_execute = false,
     .has_sockets = false},
    {.kind = ProcessKind::kFinder,
     .name = "finder",
     .task = "opens what processes have mapped",
     .capabilities = kToLook,
     .filter = CallFilter::kFinding,
     .paths = PathFilter::kNone,
     .may_execute = false,
     .has_sockets = false},
    {.kind = ProcessKind::kReader,
     .name = "reader",
     .task = "reads the memory of processes",
     .capabilities = uint64_t{1} << CAP_SYS_PTRACE,
     .filter = CallFilter::kReading,
     .paths = PathFilter::kNone,  // Landlock would refuse the memory as well
     .may_execute = false,
     .has_sockets = false},
    {.kind = ProcessKind::kRecorder,
     .name = "recorder",
     .task = "takes samples, reads binaries",
     .capabilities = kNoCapability,
     .filter = CallFilter::kRecording,
     .paths = PathFilter::kToRead,
     .may_execute = false,
     .has_sockets = false},
    {.kind = ProcessKind::kKeeper,
     .name = "keeper",
     .task = "opens events for the recorder",
     .capabilities = kToSample,
     .filter = CallFilter::kKeeping,
     .paths = PathFilter::kGiven,
     .may_execute = false,
     .has_sockets = false},
    {.kind = ProcessKind::kRemover,
     .name = "remover",
     .task = "removes a recording without samples",
     .capabilities = kToOpen,
     .filter = CallFilter::kFinding,
     .paths = PathFilter::kGiven,
     .may_execute = false,
     .has_sockets = false},
    {.kind = ProcessKind::kStorer,
     .name = "storer",
     .task = "names and removes recordings",
     .capabilities = kToOpen,
     .filter = CallFilter::kOpening,
     .paths = PathFilter::kGiven,
     .may_execute = false,
     .has_sockets = false},
};

}  // namespace

std::span<const ProcessRow> process_rows() {
  return kProcessRows;
}

const ProcessRow& row_of(ProcessKind kind) {
  return *std::ranges::find(kProcessRows, kind, &ProcessRow::kind);
}

Enforced enforced_here() {
  return {.has_filters = has_call_filters(), .landlock_version = landlock_version()};
}

void enter(ProcessKind kind, const ReachablePaths& paths) {
  const ProcessRow& row = row_of(kind);
  // Without this neither a filter nor Landlock may be applied by one without rights.
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  keep_capabilities(row.capabilities);
  // The paths are opened for the rules before the filter forbids opening them. Null leaves all.
  PathRules rules(row.paths == PathFilter::kNone ? nullptr : &paths,
                  /*is_to_read=*/row.paths == PathFilter::kToRead && paths.read.empty(),
                  /*may_signal=*/(row.capabilities & kToSignal) != 0);
  // Without a filter no call with a path goes to an opener. A parser opens its files itself
  // then, which Landlock would refuse: its paths are all left.
  bool has_filter = row.filter != CallFilter::kNone && load_call_filter(row.filter);
  if (has_filter || row.paths != PathFilter::kRefused)
    rules.apply();
  on_entered(kind);
}

[[gnu::weak]] void on_entered(ProcessKind /*kind*/) {}

}  // namespace gosym
