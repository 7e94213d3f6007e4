#pragma once

#include <linux/perf_event.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/sampler.h"

namespace gosym {

// The event that the options ask for, or else cycles where the machine can count them, which
// many virtual ones cannot, and the CPU clock where it cannot.
Result<EventType> choose_event(const SamplerOptions& options);

// Takes samples as the options say, not enabled yet; what it has to say of itself is as
// Sideband wants it.
perf_event_attr sampling_event(const EventType& event, const SamplerOptions& options);

// On a CPU, for whatever runs there. errno says why there is none.
UniqueFd open_perf_event(perf_event_attr attr, uint32_t cpu);

}  // namespace gosym
