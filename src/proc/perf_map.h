#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>

// The perf map of a process, /tmp/perf-PID.map: how a just-in-time compiler names the code that
// it makes. PID is what the process itself takes for its number. A line is a piece of code:
//
//   line := start " " size " " name newline
//
//   3ea8b7a04c40 1f8 JS:*handle file:///srv/app.js:31:16
//
// start and size are hexadecimal, with or without 0x. The name goes on to the end of the line
// and is any bytes: spaces are usual in it.
//
// Lines are added as code is made. None is taken back or has a time, so that where code came
// into the place of older code, the later line is the one to believe; of what it leaves
// uncovered the earlier one still tells.
//
// Not a line, and passed over: a size of 0 or one that leads past 2^64, no name, anything else
// than the above, and a last line without newline, as it may be half of one.

namespace gosym::proc {

struct PerfMapEntry {
  uint64_t start = 0;
  uint64_t last = 0;  // address of its last byte
  std::string_view name;
};

std::optional<PerfMapEntry> parse_perf_map_line(std::string_view line);

// An address at which code ran, and how long the map was then.
struct PerfMapPlace {
  uint64_t address = 0;
  size_t size = SIZE_MAX;
  auto operator<=>(const PerfMapPlace&) const = default;
};

// The names at those of the places that the map covers: by the last line that was there then,
// or else by the first one behind it, for some are written late. They borrow from the text.
// Takes time for each line and each place twice, however the lines overlap.
std::map<PerfMapPlace, std::string_view> find_in_perf_map(std::string_view text,
                                                          const std::set<PerfMapPlace>& places);

}  // namespace gosym::proc
