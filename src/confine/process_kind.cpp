#include "confine/process_kind.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include <algorithm>

#include "confine/capabilities.h"
#include "confine/landlock.h"
#include "confine/system_calls.h"

namespace gosym {

namespace {

constexpr uint64_t kNoCapability = 0;

// To open what its user may open, root too, and to give a file that is done its name in a
// directory such as /tmp.
constexpr uint64_t kToOpen = uint64_t{1} << CAP_DAC_OVERRIDE |
                             uint64_t{1} << CAP_DAC_READ_SEARCH | uint64_t{1} << CAP_FOWNER;

constexpr ProcessRow kProcessRows[] = {
    {.kind = ProcessKind::kFront,
     .name = "front",
     .task = "starts the pager, hands signals on",
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
     .may_execute = false,
     .has_sockets = true},
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
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  keep_capabilities(row.capabilities);
  PathRules rules(row.paths == PathFilter::kNone ? nullptr : &paths);
  // Whose paths no opener takes has to open them itself.
  bool has_filter = row.filter != CallFilter::kNone && load_call_filter(row.filter);
  if (has_filter || row.paths == PathFilter::kGiven)
    rules.apply();
  on_entered(kind);
}

[[gnu::weak]] void on_entered(ProcessKind /*kind*/) {}

}  // namespace gosym
