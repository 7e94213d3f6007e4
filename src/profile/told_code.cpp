#include "profile/told_code.h"

#include <algorithm>
#include <string_view>

#include "proc/perf_map.h"

namespace gosym {

namespace {

// The marks that can be relied on: both numbers rise.
std::vector<PerfMapMark> rising(const std::vector<PerfMapMark>& marks) {
  std::vector<PerfMapMark> kept;
  for (const PerfMapMark& mark : marks)
    if (kept.empty() || (mark.time >= kept.back().time && mark.size >= kept.back().size))
      kept.push_back(mark);
  return kept;
}

}  // namespace

ToldCode::ToldCode(const RecordedPerfMap& map, size_t& left) {
  // The map is read in the order in which it was written. A line whose addresses were told of
  // before means that new code came into their place: only such lines make a version.
  Ranges told;
  std::vector<PerfMapMark> marks = rising(map.marks);
  auto mark = marks.begin();
  std::string_view text = map.text;
  for (size_t begin = 0; mark != marks.end() && told.size() + remade_.size() < left;) {
    size_t end = text.find('\n', begin) + 1;
    if (end == 0)
      break;
    // A mark says how long the map was at a time: lines up to there were written before it.
    while (mark != marks.end() && mark->size < end)
      ++mark;
    // None for a line that is not of the format: it names no code.
    auto entry = proc::parse_perf_map_line(text.substr(begin, end - 1 - begin));
    begin = end;
    if (mark == marks.end() || !entry || !add(told, entry->start, entry->last, &remade_))
      continue;
    if (versions_.empty() || versions_.back() != *mark)
      versions_.push_back(*mark);
  }
  left -= std::min(left, remade_.size());
}

bool ToldCode::add(Ranges& ranges, uint64_t first, uint64_t last, Ranges* common) {
  bool has_common = false;
  auto at = ranges.upper_bound(first);
  // The range before may reach into this one.
  if (at != ranges.begin() && std::prev(at)->second >= first)
    --at;
  while (at != ranges.end() && at->first <= last) {
    has_common = true;
    if (common)
      add(*common, std::max(first, at->first), std::min(last, at->second), nullptr);
    // Ranges that overlap the new one become one with it, so that they stay apart from one
    // another.
    first = std::min(first, at->first);
    last = std::max(last, at->second);
    at = ranges.erase(at);
  }
  ranges.emplace(first, last);
  return has_common;
}

uint32_t ToldCode::version_at(uint64_t time) const {
  auto next = std::ranges::upper_bound(versions_, time, {}, &PerfMapMark::time);
  return static_cast<uint32_t>(next - versions_.begin());
}

uint64_t ToldCode::size_of(uint32_t version, uint64_t address) const {
  auto above = remade_.upper_bound(address);
  if (above == remade_.begin() || std::prev(above)->second < address)
    return kAll;
  // Before new code came into any place (version 0) no line counts as written:
  // find_in_perf_map() then takes the first one about the address, which is that of the old
  // code.
  return version == 0 ? 0 : versions_[std::min<size_t>(version, versions_.size()) - 1].size;
}

}  // namespace gosym
