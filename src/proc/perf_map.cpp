#include "proc/perf_map.h"

#include <algorithm>

#include "base/text.h"

namespace gosym::proc {

namespace {

// Cuts off and returns the last line of a text that ends in a newline.
std::string_view take_last_line(std::string_view& text) {
  text.remove_suffix(1);
  size_t begin = text.rfind('\n') + 1;  // 0 where there is no other line
  std::string_view line = text.substr(begin);
  text = text.substr(0, begin);
  return line;
}

}  // namespace

std::optional<PerfMapEntry> parse_perf_map_line(std::string_view line) {
  auto start = parse_hex(take_word(line));
  auto size = parse_hex(take_word(line));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!start || !size || *size == 0 || *size - 1 > UINT64_MAX - *start || line.empty())
    return std::nullopt;
  return PerfMapEntry{*start, *start + (*size - 1), line};
}

std::map<uint64_t, std::string_view> find_in_perf_map(std::string_view text,
                                                      std::set<uint64_t> addresses) {
  std::map<uint64_t, std::string_view> names;
  text = text.substr(0, text.rfind('\n') + 1);
  // From the last line to the first, so that the first to cover an address is the right one.
  while (!text.empty() && !addresses.empty()) {
    auto entry = parse_perf_map_line(take_last_line(text));
    if (!entry)
      continue;
    auto covered = addresses.lower_bound(entry->start);
    while (covered != addresses.end() && *covered <= entry->last) {
      names.emplace(*covered, entry->name);
      covered = addresses.erase(covered);
    }
  }
  return names;
}

}  // namespace gosym::proc
