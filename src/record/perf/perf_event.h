#pragma once

#include <linux/perf_event.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/sampler.h"

namespace gosym {

// The events that the options ask for, or else cycles where the machine can count them, which
// many virtual ones cannot, and the CPU clock where it cannot.
Result<std::vector<EventType>> choose_events(const SamplerOptions& options);

// Its records have the trailer and the clock of sideband_record.h.
perf_event_attr timed_event(const EventType& event);
// Lets it tell of mappings, names, forks and ends too.
void tell_of_processes(perf_event_attr& attr);

// A timed event that takes samples as the options say, not enabled yet.
perf_event_attr sampling_event(const EventType& event, const SamplerOptions& options);

// Nanoseconds from one sample to the next, of a clock; 0: the event is none.
uint64_t tick_of(const EventType& event, const SamplerOptions& options);

// Describes an event for the recording: either the frequency or the period is 0.
RecordedEvent to_recorded(const EventType& event, const SamplerOptions& options);

inline constexpr pid_t kAnyThread = -1;

// On a CPU, for a thread or for whatever runs there; with PERF_FLAG_PID_CGROUP the thread is a
// descriptor of a cgroup's directory. errno says why there is none.
UniqueFd open_perf_event(perf_event_attr attr, uint32_t cpu, pid_t thread = kAnyThread,
                         unsigned long flags = 0);

// True for the errno that perf_event_open(2) gives where there is no such counter.
bool is_missing_event(int cause);

}  // namespace gosym
