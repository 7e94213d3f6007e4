#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gosym {

// What is counted, a sample being taken now and then.
struct EventType {
  std::string name;   // as perf has it: "cpu-clock"
  uint32_t type = 0;  // of perf_event_attr, as is config
  uint64_t config = 0;
  bool goes_on_idle = false;  // it counts while the CPU has nothing to do
};

// "page-faults", "cs", "r01c2" (a number of the CPU's own in hexadecimal).
Result<EventType> parse_event_type(std::string_view name);

// Those that have names, as they are shown, without other names for the same.
std::vector<std::string> event_type_names();

EventType cycles();
EventType cpu_clock();

}  // namespace gosym
