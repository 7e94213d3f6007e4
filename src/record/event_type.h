#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gosym {

// Those that one recording can be of.
inline constexpr size_t kMaxEventTypes = 4;

// What is counted, a sample being taken now and then.
struct EventType {
  std::string name;   // as perf has it: "cpu-clock"
  uint32_t type = 0;  // of perf_event_attr, as is config
  uint64_t config = 0;
  bool goes_on_idle = false;  // it counts while the CPU has nothing to do
  // Where it has a rate of its own, samples a second or events from one sample to the next;
  // else both are 0: as the sampler's options say.
  uint64_t frequency = 0;
  uint64_t period = 0;
};

// "page-faults", "cs", "r01c2" (a number of the CPU's own in hexadecimal).
Result<EventType> parse_event_type(std::string_view name);

// Of each name: an error if one of them is there twice, or there are too many.
Result<std::vector<EventType>> parse_event_types(std::span<const std::string> names);

// Those that have names, as they are shown, without other names for the same.
std::vector<std::string> event_type_names();

EventType cycles();
EventType cpu_clock();

}  // namespace gosym
