#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gosym {

// Events that one recording can sample, at most.
inline constexpr size_t kMaxEventTypes = 4;

enum class EventSource : uint8_t {
  kPerf,        // a perf event
  kOffCpu,      // the scheduler: threads that were on no CPU
  kGoroutines,  // the memory of Go programs: goroutine/wall_sampler.h
};

// An event that is counted, a sample being taken now and then.
struct EventType {
  // The name that perf gives it: "cpu-clock". Empty: the best that there is for CPU time.
  std::string name;
  uint32_t type = 0;  // of perf_event_attr, likewise config
  uint64_t config = 0;
  bool goes_on_idle = false;  // it counts while the CPU has nothing to do
  // Its own rate, if it has one: samples a second, or events from one sample to the next. Both
  // are 0 otherwise: the sampler's options hold.
  uint64_t frequency = 0;
  uint64_t period = 0;  // for kOffCpu the threshold in nanoseconds, never 0
  EventSource source = EventSource::kPerf;
};

// An interval as long as this or longer is always a sample, with the same probability as one of
// those that make as much together.
inline constexpr uint64_t kDefaultWaitThreshold = 10'000'000;
inline constexpr uint64_t kMaxWaitThreshold = 1'000'000'000;

// Time that threads are on no CPU.
EventType off_cpu(uint64_t threshold = kDefaultWaitThreshold);

// "page-faults", "cs", "r01c2" (a number of the CPU's own in hexadecimal).
Result<EventType> parse_event_type(std::string_view name);

// Parses all names: an error if an event is there twice, or there are too many.
Result<std::vector<EventType>> parse_event_types(std::span<const std::string> names);

// All events that have names, as they are shown, without other names for the same.
std::vector<std::string> event_type_names();

EventType cycles();
EventType cpu_clock();

}  // namespace gosym
