#include "proc/smaps.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/mapped_file.h"
#include "base/text.h"

namespace gosym::proc {

namespace {

constexpr size_t kMaxSmaps = 64 << 20;

// The number of "   123 kB", in bytes.
uint64_t kilobytes_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  auto number = parse_decimal(text.substr(0, text.find(' ')));
  constexpr uint64_t kMost = uint64_t{1} << 50;
  return number && *number < kMost ? *number << 10 : 0;
}

}  // namespace

std::vector<MemoryUse> parse_smaps(std::string_view text) {
  constexpr std::string_view kResident = "Rss:";
  constexpr std::string_view kSwapped = "Swap:";
  std::vector<MemoryUse> uses;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    bool is_name = !line.empty() && line.front() >= 'A' && line.front() <= 'Z';
    if (auto mapping = is_name ? std::nullopt : parse_maps_line(line))
      uses.push_back({.mapping = *std::move(mapping)});
    else if (line.starts_with(kResident) && !uses.empty())
      uses.back().resident = kilobytes_in(line.substr(kResident.size()));
    else if (line.starts_with(kSwapped) && !uses.empty())
      uses.back().swapped = kilobytes_in(line.substr(kSwapped.size()));
  }
  return uses;
}

Result<std::string> smaps_text_of(uint32_t pid) {
  return read_file(fmt::format("/proc/{}/smaps", pid), kMaxSmaps);
}

}  // namespace gosym::proc
