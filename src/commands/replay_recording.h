#pragma once

#include "profile/filter.h"
#include "profile/profile.h"
#include "raw/reader.h"

namespace gosym {

// The profile of the samples that the filter keeps, without frames. Without goids, equal
// samples of different goroutines are one. Chunks are read one by one; damaged ones are counted
// with the recording's others, and its images and events are used up.
Profile replay(raw::Recording& recording, const Filter& filter, bool has_goids);

}  // namespace gosym
