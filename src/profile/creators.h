#pragma once

#include "profile/profile.h"

namespace gosym {

// Stacks of goroutines whose callers were looked for with GroupBy::has_creators have the go
// statement beyond their root. It becomes a frame named as tracebacks do, "created by
// main.main", in the place of runtime.goexit; without a name it is dropped. False: no stack has
// one.
bool name_creators(Profile& profile);

// Takes out what looks like a caller of runtime.goexit: recordings of older versions have
// creators in their stacks, and what they made of those whose files could not be read then.
void drop_creators(Profile& profile);

}  // namespace gosym
