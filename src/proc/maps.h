#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gosym::proc {

// Bytes of a file of /proc/PID that are read. The largest are maps and smaps;
// vm.max_map_count allows 65530 mappings unless it was raised, of 4 KiB of path at most. This
// is as much for ordinary paths and ten times the mappings.
inline constexpr size_t kMaxProcessText = 64 << 20;

// /proc/PID/maps: one line a mapping, in order of address.
//
//   line   := start "-" end " " rights " " offset " " major ":" minor " " inode [spaces path]
//   rights := [r-] [w-] [x-] [ps]
//
// start, end, offset, major and minor are hexadecimal without 0x; inode is decimal. No path:
// anonymous memory. In a path a newline is written \012 and nothing else is escaped; a path
// that no longer leads to the file ends in " (deleted)". "[vdso]" and other names in brackets
// are memory of the kernel's making; they and anonymous memory have inode 0.
struct MapsEntry {
  uint64_t start = 0;
  uint64_t end = 0;  // first address after it
  bool is_executable = false;
  uint64_t file_offset = 0;
  uint64_t device = 0;  // st_dev of stat(2)
  uint64_t inode = 0;
  std::string path;  // unescaped
};

std::optional<MapsEntry> parse_maps_line(std::string_view line);

// An error names the first line that is not as above.
Result<std::vector<MapsEntry>> parse_maps(std::string_view text);

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
