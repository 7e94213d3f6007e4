#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Recordings as users name them: files, directories of them, and those of a span of time.

namespace gosym {

// A span of time, in nanoseconds since 1970; the end is not part of it.
struct Span {
  uint64_t since = 0;
  uint64_t until = UINT64_MAX;

  bool operator==(const Span&) const = default;
  bool overlaps(uint64_t begin, uint64_t end) const { return begin < until && end >= since; }
};

// A moment as people write it, in nanoseconds since 1970. `now` is likewise. A time of the day
// is of this time zone, and the last one that has been; with a Z it is of UTC:
//
//   -10m, -2h, -1d      so long before now
//   14:02, 14:02:30     today, or yesterday if it is not that late yet
//   2026-11-22, 2026-11-22T14:02, "2026-11-22 14:02:30", 20261122T140230Z
//
// None: it is nothing of that.
std::optional<uint64_t> parse_moment(std::string_view text, uint64_t now);

// "14:00..14:10"; either may be left out.
std::optional<Span> parse_span(std::string_view text, uint64_t now);

// "2026-11-22T14:02:30Z"
std::string moment_text(uint64_t time);

// A choice of some of many recordings.
struct WantedRecordings {
  Span span = {};
  std::vector<std::string> hosts = {};  // none: all

  bool is_host(std::string_view host) const;
  bool operator==(const WantedRecordings&) const = default;
};

struct FoundRecording {
  std::string path;
  bool was_listed = false;  // and not named: it may be removed any time
};

// The files that are meant: of directories all files "*.raw" that may have what is wanted, as
// far as their names and times of change tell. What is no regular file is left out:
// a FIFO that somebody put there would hold us for good.
Result<std::vector<FoundRecording>> find_recordings(const std::vector<std::string>& inputs,
                                                    const WantedRecordings& wanted);

bool is_directory(const std::string& path);

// The stores of files that directories of recordings have, also of those that files "*.raw" lie
// in.
std::vector<std::string> stores_beside(const std::vector<std::string>& inputs);

}  // namespace gosym
