#pragma once

#include "base/unique_fd.h"
#include "confine/process_kind.h"

namespace gosym {

// Of landlock(7), which kernels have from Linux 5.13 on where it is switched on; 0: none.
int landlock_version();

// What is left of paths to a thread and to what it starts: those that are given. It connects to
// and signals nobody outside then, as far as this kernel's version of Landlock knows to refuse
// it, unless it is given some.
class PathRules {
public:
  // Null: all are left. Files that are not there are left out.
  explicit PathRules(const ReachablePaths* paths);
  // The thread must have PR_SET_NO_NEW_PRIVS.
  void apply() const;

private:
  UniqueFd rules_;
};

}  // namespace gosym
