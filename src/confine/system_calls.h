#pragma once

#include "confine/process_kind.h"

namespace gosym {

// True where this kernel, and who started us, lets a process filter its system calls.
bool has_call_filters();

// Lets only the calls of `filter` through, in this process, for good, and in those that it
// starts; it must have PR_SET_NO_NEW_PRIVS. Calls of a parser with a path raise SIGSYS: an
// opener takes them (opener.h). False: the filter cannot be loaded.
bool load_call_filter(CallFilter filter);

}  // namespace gosym
