#pragma once

#include "profile/filter.h"
#include "profile/replay.h"
#include "raw/reader.h"

namespace gosym {

// The profile of the samples that the filter keeps, without frames. Chunks are read one by one;
// damaged ones are counted with the recording's others, and its images and events are used up.
//
// With `find`, callers are looked for whenever there is much of what it takes; its second
// argument is the memory, in bytes, that all stacks with their callers may take.
using FindCallersWithin =
    std::function<bool(Profile& profile, const StackDumps& dumps, uint64_t memory)>;
Result<Replayed> replay(raw::Recording& recording, const Filter& filter, GroupBy group_by,
                        const FindCallersWithin& find = {});

}  // namespace gosym
