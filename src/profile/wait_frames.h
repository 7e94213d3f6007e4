#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/profile.h"

namespace gosym {

// Samples of this event are threads that waited.
inline bool is_of_waits(const RecordedEvent& event) {
  return event.name == kOffCpuEvent;
}

// Finds the function that a stack waited in, for people: the kernel and Go's runtime are where
// every wait ends, whatever it is for. The innermost frame that is of neither; where there is
// none, the innermost one that is not the kernel's; of the kernel's own threads the innermost.
class WaitFrames {
public:
  explicit WaitFrames(const Profile& profile);

  struct Place {
    size_t location;  // index in the stack
    uint32_t depth;   // of the frame in that, as Profile::frames_of() has them
  };
  // `stack` is not empty.
  Place find(std::span<const LocationId> stack) const;
  // The depth of the frame, where the location has it. All that waited there waited in that
  // one.
  uint32_t depth(LocationId location) const { return depths_[to_index(location)]; }

private:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t find_depth(const Profile& profile, const Location& location) const;

  std::vector<uint32_t> depths_;  // of each location; 0 where it has none such
  std::vector<bool> has_such_;
  std::vector<bool> is_kernel_;  // or no code at all: a gap
};

}  // namespace gosym
