#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/recording.h"
#include "profile/range_history.h"

namespace gosym {

// The code that the kernel loaded during a recording, BPF programs as a rule, by address and
// time. Code that was there before is named by the kernel's list of symbols (proc/kallsyms.h),
// which was read once.
class KernelHistory {
public:
  // Takes what concerns the kernel from the events, in any order.
  explicit KernelHistory(std::span<const Event> events);

  // The number of changes up to that time.
  uint32_t count_at(uint64_t time) const;

  // The name of what lies there after so many changes; empty if nothing new does. It lives as
  // long as this.
  std::string_view find(uint64_t address, uint32_t count) const;

private:
  std::vector<KernelCodeEvent> events_;  // in order of time
  RangeHistory ranges_;                  // of events_: what was removed hides what was there
};

}  // namespace gosym
