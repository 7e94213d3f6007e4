#pragma once

#include "confine/process_kind.h"

namespace gosym {

// What a program needs to read that talks to servers: whom its libraries ask for the names of
// hosts, and for those who sign for them; the libraries; and the loaders of programs. The
// program itself and what it writes are the caller's to add.
ReachablePaths paths_of_client();

}  // namespace gosym
