#include "proc/perf_map.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace gosym::proc {

namespace {

// Places by size, so that each is looked for from one line on.
using BySize = std::multimap<size_t, PerfMapPlace>;
using Names = std::map<PerfMapPlace, std::string_view>;

// Names the open places that a line covers, which are open no more.
void name_covered(std::string_view line, std::set<PerfMapPlace>& open, Names& names) {
  auto entry = parse_perf_map_line(line);
  if (!entry)
    return;
  auto covered = open.lower_bound({entry->start, 0});
  while (covered != open.end() && covered->address <= entry->last) {
    names.emplace(*covered, entry->name);
    covered = open.erase(covered);
  }
}

// From the last line to the first, so that the first to cover a place is the right one. Gives
// the places that none covers. The text ends in a newline.
std::set<PerfMapPlace> find_backward(std::string_view text, BySize places, Names& names) {
  std::set<PerfMapPlace> open;
  for (size_t end = text.size(); end > 0 && !(places.empty() && open.empty());) {
    // Places whose map was that long or longer at their time: for these the line was there
    // already.
    while (!places.empty() && std::prev(places.end())->first >= end)
      open.insert(places.extract(std::prev(places.end())).mapped());
    size_t begin = text.substr(0, end - 1).rfind('\n') + 1;  // 0 where there is no other line
    if (!open.empty())
      name_covered(text.substr(begin, end - 1 - begin), open, names);
    end = begin;
  }
  for (const auto& [size, place] : places)
    open.insert(place);
  return open;
}

// The other way round, of lines that were not there yet.
void find_forward(std::string_view text, BySize places, Names& names) {
  std::set<PerfMapPlace> open;
  for (size_t begin = 0; begin < text.size() && !(places.empty() && open.empty());) {
    // There is one: the text ends in a newline, as find_in_perf_map() has cut it.
    size_t end = text.find('\n', begin) + 1;
    // Places that had not seen this line yet: it may be of code that was made before and told
    // late.
    while (!places.empty() && places.begin()->first < end)
      open.insert(places.extract(places.begin()).mapped());
    if (!open.empty())
      name_covered(text.substr(begin, end - 1 - begin), open, names);
    begin = end;
  }
}

BySize by_size(const std::set<PerfMapPlace>& places) {
  BySize sorted;
  for (const PerfMapPlace& place : places)
    sorted.emplace(place.size, place);
  return sorted;
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

std::map<PerfMapPlace, std::string_view> find_in_perf_map(
    std::string_view text, const std::set<PerfMapPlace>& places) {
  Names names;
  // The last line may be half of one.
  text = text.substr(0, text.rfind('\n') + 1);
  std::set<PerfMapPlace> unnamed = find_backward(text, by_size(places), names);
  find_forward(text, by_size(unnamed), names);
  return names;
}

}  // namespace gosym::proc
