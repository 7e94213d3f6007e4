#pragma once

#include "profile/profile.h"

namespace gosym {

// A small profile with everything that outputs tell apart, of 8 samples at 100 Hz:
//
//   5  demo     main.main > main.process > main.compute, the last one inlined
//   2  demo     main.main > main.process > [stripped libc.so.6] > write, of the kernel
//   1  "a; b"   [no mapping] > main.loop > main.loop
Profile make_demo_profile();

}  // namespace gosym
