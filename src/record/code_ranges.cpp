#include "record/code_ranges.h"

#include <algorithm>

namespace gosym {

namespace {

// So many have a few processes only, that make code by the page; more would only cost time.
constexpr size_t kMaxRanges = 65536;

}  // namespace

void CodeRanges::apply(const SidebandRecord& record) {
  if (const auto* mapping = std::get_if<RawMapping>(&record)) {
    add(mapping->pid, {mapping->start, mapping->start + mapping->length});
  } else if (const auto* fork = std::get_if<ForkEvent>(&record)) {
    if (fork->pid != fork->parent_pid)
      ranges_[fork->pid] = of(fork->parent_pid);
  }
}

void CodeRanges::add(uint32_t pid, Range range) {
  std::vector<Range>& ranges = ranges_[pid];
  if (range.begin >= range.end)
    return;
  // Those that touch it become one with it.
  auto first = std::ranges::lower_bound(ranges, range.begin, {}, &Range::end);
  auto last = std::ranges::upper_bound(first, ranges.end(), range.end, {}, &Range::begin);
  if (first != last) {
    range.begin = std::min(range.begin, first->begin);
    range.end = std::max(range.end, std::prev(last)->end);
    first = ranges.erase(first, last);
  }
  if (ranges.size() < kMaxRanges)
    ranges.insert(first, range);
}

const std::vector<CodeRanges::Range>& CodeRanges::of(uint32_t pid) const {
  static const std::vector<Range> none;
  auto known = ranges_.find(pid);
  return known == ranges_.end() ? none : known->second;
}

bool contains(const std::vector<CodeRanges::Range>& ranges, uint64_t address) {
  if (ranges.empty() || address < ranges.front().begin || address >= ranges.back().end)
    return false;
  auto above = std::ranges::upper_bound(ranges, address, {}, &CodeRanges::Range::begin);
  return address < std::prev(above)->end;
}

}  // namespace gosym
