#pragma once

#include "base/unique_fd.h"
#include "confine/process_kind.h"

namespace gosym {

// The version of landlock(7), which kernels have from Linux 5.13 on where it is switched on; 0:
// none.
int landlock_version();

// Paths that are left to a thread and to what it starts: those that are given. It connects to
// and signals nobody outside then, as far as this kernel's version of Landlock knows to refuse
// it, unless it is given some. `may_signal`: it signals whom it may.
class PathRules {
public:
  // Null: all are left. Files that are not there are left out. `is_to_read`: all may be read,
  // and those that are given be written.
  PathRules(const ReachablePaths* paths, bool is_to_read, bool may_signal);
  // The thread must have PR_SET_NO_NEW_PRIVS.
  void apply() const;

private:
  UniqueFd rules_;
};

}  // namespace gosym
