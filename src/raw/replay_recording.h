#pragma once

#include "profile/filter.h"
#include "profile/replay.h"
#include "raw/reader.h"

namespace gosym {

// The profile of the samples that the filter keeps, without frames. Chunks are read one by one;
// damaged ones are counted with the recording's others, and its images and events are used up.
Result<Replayed> replay(raw::Recording& recording, const Filter& filter, GroupBy group_by);

}  // namespace gosym
