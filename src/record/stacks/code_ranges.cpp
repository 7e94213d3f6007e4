#include "record/stacks/code_ranges.h"

#include <algorithm>

namespace gosym {

namespace {

// So many have a few processes only, that make code by the page; more would only cost time.
constexpr size_t kMaxRanges = 65536;

}  // namespace

void add(CodeRanges& ranges, CodeRange range) {
  if (range.begin >= range.end)
    return;
  // Ranges that touch the new one become one with it.
  auto first = std::ranges::lower_bound(ranges, range.begin, {}, &CodeRange::end);
  auto last = std::ranges::upper_bound(first, ranges.end(), range.end, {}, &CodeRange::begin);
  if (first != last) {
    range.begin = std::min(range.begin, first->begin);
    range.end = std::max(range.end, std::prev(last)->end);
    first = ranges.erase(first, last);
  }
  if (ranges.size() < kMaxRanges)
    ranges.insert(first, range);
}

bool contains(const CodeRanges& ranges, uint64_t address) {
  if (ranges.empty() || address < ranges.front().begin || address >= ranges.back().end)
    return false;
  auto above = std::ranges::upper_bound(ranges, address, {}, &CodeRange::begin);
  return address < std::prev(above)->end;
}

bool contains(const CodeRanges& ranges, CodeRange range) {
  auto at = std::ranges::upper_bound(ranges, range.begin, {}, &CodeRange::begin);
  return at != ranges.begin() && range.end <= std::prev(at)->end;
}

}  // namespace gosym
