#pragma once

#include "raw/reader.h"

namespace gosym::raw {

// Reads the events of a recording that its samples need: those of the kernel and of cgroups,
// and of processes and threads that have samples or are ancestors of such. Of a host where
// millions of processes come and go few have any, and what the others did costs no memory.
//
// `memory` is what is taken already; an error if that and the events come to more than the
// budget of the recording. Chunks that do not decode are counted as damaged.
Result<> read_events(Recording& recording, uint64_t& memory);

}  // namespace gosym::raw
