#pragma once

#include "confine/process_kind.h"

namespace gosym {

// True where this kernel, and who started us, lets a process filter its system calls.
bool has_call_filters();

// By parsers, calls with a path raise SIGSYS: an opener takes them (opener.h).
//
// Of this process, for good, and of what it starts; it must have PR_SET_NO_NEW_PRIVS. False: it
// cannot be, and none is.
bool load_call_filter(CallFilter filter);

}  // namespace gosym
