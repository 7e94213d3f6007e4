#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proc/maps.h"

namespace gosym::proc {

// /proc/PID/smaps: behind each line of maps (maps.h) lines of what is known of it:
//
//   line := name ":" spaces number " kB", or other text behind the colon
struct MemoryUse {
  MapsEntry mapping;
  uint64_t resident = 0;  // "Rss", in bytes
  uint64_t swapped = 0;   // "Swap"
};

// Lines that are not as above are left out.
std::vector<MemoryUse> parse_smaps(std::string_view text);

// Empty for a kernel thread and a process that is gone.
Result<std::string> smaps_text_of(uint32_t pid);

}  // namespace gosym::proc
