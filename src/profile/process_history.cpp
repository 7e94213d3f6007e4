#include "profile/process_history.h"

#include <algorithm>

namespace gosym {

namespace {

// The number of ancestors that are asked for a mapping. Forks that lead to code without an exec
// between them are few: a shell's subshells, a server's workers. The limit is against
// recordings made to be slow; beyond it code counts as not mapped.
constexpr int kMaxForkDepth = 64;

// The number of elements, which are in order of time, that are not after `time`.
template <class Elements, class Time>
size_t count_until(const Elements& elements, uint64_t time, Time time_of_element) {
  auto after = std::ranges::upper_bound(elements, time, {}, time_of_element);
  return static_cast<size_t>(after - elements.begin());
}

}  // namespace

ProcessHistory::ProcessHistory(std::vector<Event> events) : events_(std::move(events)) {
  // Stable: an exec and the mappings that follow it may bear the same time.
  std::ranges::stable_sort(events_, {}, [](const Event& event) { return time_of(event); });
  for (const Event& event : events_)
    std::visit([this](const auto& e) { apply(e); }, event);

  std::vector<RangeHistory::Range> ranges;
  for (Program& program : programs_) {
    ranges.clear();
    for (const MapEvent* map : program.maps)
      ranges.push_back({map->start, map->limit()});
    program.ranges = RangeHistory(ranges);
  }
}

void ProcessHistory::apply(const MapEvent& event) {
  // A process that was there before the recording began. Time 0 is before all samples, so that
  // address_space() finds it for each of them.
  if (!programs_of_.contains(event.pid))
    begin_program(event.pid, 0, {});
  programs_[programs_of_[event.pid].back()].maps.push_back(&event);
}

void ProcessHistory::apply(const CommEvent& event) {
  names_of_[event.tid].push_back({event.time, event.comm});
  if (event.is_exec)
    begin_program(event.pid, event.time, {});
}

void ProcessHistory::apply(const ForkEvent& event) {
  names_of_[event.tid].push_back(
      {event.time, comm(event.parent_pid, event.parent_tid, event.time)});
  if (event.pid != event.parent_pid)
    begin_program(event.pid, event.time, current_space(event.parent_pid));
}

void ProcessHistory::begin_program(uint32_t pid, uint64_t time, AddressSpace parent) {
  programs_of_[pid].push_back(static_cast<uint32_t>(programs_.size()));
  programs_.push_back({time, parent, {}, {}});
}

// The address space after the last event applied. A fork that mapped nothing itself is passed
// over, so that chains of forks do not grow long.
AddressSpace ProcessHistory::current_space(uint32_t pid) const {
  auto known = programs_of_.find(pid);
  if (known == programs_of_.end())
    return {};
  uint32_t index = known->second.back();
  const Program& program = programs_[index];
  if (program.maps.empty())
    return program.parent;
  return {index, static_cast<uint32_t>(program.maps.size())};
}

// The program that the process ran then, with the mappings that it had made until then. A
// program that has mapped nothing yet is asked for all the same: find() goes on to its parent.
AddressSpace ProcessHistory::address_space(uint32_t pid, uint64_t time) const {
  auto known = programs_of_.find(pid);
  if (known == programs_of_.end())
    return {};
  size_t begun = count_until(known->second, time,
                             [this](uint32_t index) { return programs_[index].begin; });
  if (begun == 0)
    return {};
  uint32_t index = known->second[begun - 1];
  size_t mapped = count_until(programs_[index].maps, time, &MapEvent::time);
  return {index, static_cast<uint32_t>(mapped)};
}

const MapEvent* ProcessHistory::find(AddressSpace space, uint64_t address) const {
  for (int depth = 0; depth < kMaxForkDepth; depth++) {
    if (space.program == AddressSpace::kUnknown)
      return nullptr;
    // Mappings of its own hide those that it had from its parent at the fork.
    const Program& program = programs_[space.program];
    if (auto index = program.ranges.find(address, space.map_count))
      return program.maps[*index];
    space = program.parent;
  }
  return nullptr;
}

std::string_view ProcessHistory::name_of(uint32_t tid, uint64_t time) const {
  auto known = names_of_.find(tid);
  if (known == names_of_.end())
    return {};
  size_t given = count_until(known->second, time, &Name::time);
  return given == 0 ? std::string_view() : known->second[given - 1].comm;
}

std::string_view ProcessHistory::comm(uint32_t pid, uint32_t tid, uint64_t time) const {
  std::string_view name = name_of(tid, time);
  return name.empty() ? process_name(pid, time) : name;
}

std::string_view ProcessHistory::process_name(uint32_t pid, uint64_t time) const {
  return name_of(pid, time);
}

RangeHistory::RangeHistory(std::span<const Range> ranges) {
  for (const Range& range : ranges) {
    bounds_.push_back(range.start);
    bounds_.push_back(range.limit);
  }
  std::ranges::sort(bounds_);
  bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
  // A segment tree over all bounds: leaf i is the space from bound i to the next one, node n
  // has the children 2n and 2n + 1.
  nodes_.resize(2 * bounds_.size());

  for (uint32_t index = 0; index < ranges.size(); index++) {
    // A range is put into the few nodes that cover it, O(log n) of them, so that no order of
    // mappings makes it slow. Indices rise within a node, as ranges are in order of time.
    size_t begin = leaf_of(ranges[index].start);
    size_t end = leaf_of(ranges[index].limit);
    for (; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1)
        nodes_[begin++].push_back(index);
      if (end % 2 == 1)
        nodes_[--end].push_back(index);
    }
  }
}

size_t RangeHistory::leaf_of(uint64_t bound) const {
  auto found = std::ranges::lower_bound(bounds_, bound);
  return bounds_.size() + static_cast<size_t>(found - bounds_.begin());
}

std::optional<uint32_t> RangeHistory::find(uint64_t address, uint32_t count) const {
  auto after = std::ranges::upper_bound(bounds_, address);
  if (after == bounds_.begin())
    return std::nullopt;

  std::optional<uint32_t> top;
  size_t leaf = bounds_.size() + static_cast<size_t>(after - bounds_.begin()) - 1;
  // Ranges that cover the address are in the nodes from its leaf up to the root; of each the
  // last one below `count` is the one on top. Behind the last bound there are none.
  for (size_t node = leaf; node > 0; node /= 2) {
    auto past = std::ranges::lower_bound(nodes_[node], count);
    if (past != nodes_[node].begin())
      top = std::max(top.value_or(0), past[-1]);
  }
  return top;
}

namespace {

// The end of memory for a length that would lead past it.
uint64_t limit_of(const KernelCodeEvent& event) {
  return event.length > UINT64_MAX - event.address ? UINT64_MAX : event.address + event.length;
}

}  // namespace

KernelHistory::KernelHistory(std::span<const Event> events) {
  for (const Event& event : events)
    if (const auto* code = std::get_if<KernelCodeEvent>(&event))
      events_.push_back(*code);
  std::ranges::stable_sort(events_, {}, &KernelCodeEvent::time);

  // A removal is a range like the others: find() tells it by its event.
  std::vector<RangeHistory::Range> ranges;
  for (const KernelCodeEvent& event : events_)
    ranges.push_back({event.address, limit_of(event)});
  ranges_ = RangeHistory(ranges);
}

uint32_t KernelHistory::count_at(uint64_t time) const {
  auto after = std::ranges::upper_bound(events_, time, {}, &KernelCodeEvent::time);
  return static_cast<uint32_t>(after - events_.begin());
}

std::string_view KernelHistory::find(uint64_t address, uint32_t count) const {
  auto index = ranges_.find(address, count);
  if (!index || events_[*index].is_removed)
    return {};
  return events_[*index].name;
}

}  // namespace gosym
