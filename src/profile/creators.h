#pragma once

#include "profile/profile.h"

namespace gosym {

// Of stacks of goroutines whose callers were looked for with GroupBy::has_creators: beyond
// runtime.goexit lies the go statement. Both become one frame, named as tracebacks do: "created
// by main.main". False: no stack has one.
bool name_creators(Profile& profile);

}  // namespace gosym
