#pragma once

#include <cstdint>

#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

// The text of `perf script`, which stackcollapse-perf.pl, inferno, FlameScope, speedscope and
// Firefox's profiler read:
//
//   comm pid/tid seconds: amount event:              one for each sample
//   <tab> address name (file)                        a line a frame, innermost first
//   <empty line>
//
// An inlined call has the file "inlined". Seconds are since the recording began, in the steps
// that the profile has of time. Addresses of the kernel are 0: only root may know them. Spaces
// in the names of files are "\x20", for readers end them there.
//
// A file of few bytes can say any number of samples: more than this are refused.
inline constexpr uint64_t kMaxScriptSamples = 200'000'000;
void write_perf_script(const Profile& profile, const Write& write);

}  // namespace gosym
