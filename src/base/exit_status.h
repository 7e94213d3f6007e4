#pragma once

namespace gosym {

// The exit status of the program. `record -- COMMAND` passes COMMAND's own status on, and 126
// or 127 when COMMAND cannot be run, as a shell does.
enum ExitStatus {
  kSuccess = 0,
  kFailure = 1,
  kUsage = 2,
  kPartial = 3,      // an answer, but not all of it: disk full, or cut short under --strict
  kUnsupported = 4,  // a right or a kernel feature is missing
  kNoTarget = 5,     // no such process or function, or a profile without samples
  kNotExecutable = 126,
  kNotFound = 127,
  kInterrupted = 130,  // a second Ctrl-C
};

}  // namespace gosym
