#pragma once

#include "confine/process_kind.h"

namespace gosym {

// The files that a program reads which talks to servers: whom its libraries ask for names of
// hosts, and for those who sign for them; the libraries; and the loaders of programs. The
// program itself and what it writes are the caller's to add.
ReachablePaths paths_of_client();

}  // namespace gosym
