#include "profile/kernel_history.h"

#include <algorithm>

namespace gosym {

namespace {

// The end of memory for a length that would lead past it.
uint64_t limit_of(const KernelCodeEvent& event) {
  return event.length > UINT64_MAX - event.address ? UINT64_MAX : event.address + event.length;
}

}  // namespace

KernelHistory::KernelHistory(std::span<const Event> events) {
  for (const Event& event : events)
    if (const auto* code = std::get_if<KernelCodeEvent>(&event))
      events_.push_back(*code);
  std::ranges::stable_sort(events_, {}, &KernelCodeEvent::time);

  std::vector<RangeHistory::Range> ranges;
  for (const KernelCodeEvent& event : events_)
    ranges.push_back({event.address, limit_of(event)});
  ranges_ = RangeHistory(ranges);
}

uint32_t KernelHistory::count_at(uint64_t time) const {
  auto after = std::ranges::upper_bound(events_, time, {}, &KernelCodeEvent::time);
  return static_cast<uint32_t>(after - events_.begin());
}

std::string_view KernelHistory::find(uint64_t address, uint32_t count) const {
  auto index = ranges_.find(address, count);
  if (!index || events_[*index].is_removed)
    return {};
  return events_[*index].name;
}

}  // namespace gosym
