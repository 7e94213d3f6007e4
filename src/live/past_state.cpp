#include "live/past_state.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "proc/cgroups.h"

namespace gosym {

namespace {

// More than programs have; those that map code all the time have any number. The oldest
// mappings go, and samples in them have no names.
constexpr size_t kMaxKeptMaps = 4096;

// Containers that come and go leave one each; so many take no time to look at.
constexpr size_t kManyCgroups = 1000;

// Mappings from before `time` are no longer true.
void forget_maps_before(std::vector<MapEvent>& maps, uint64_t time) {
  std::erase_if(maps, [&](const MapEvent& map) { return map.time < time; });
}

}  // namespace

void PastState::apply(Event event) {
  std::visit([this](auto& e) { add(std::move(e)); }, event);
}

// Mappings are kept by time, as a later one hides an earlier one wherever they overlap. Of
// those that it covers as a whole nothing is left.
void PastState::add(MapEvent event) {
  Process& process = processes_[event.pid];
  if (event.time < process.begin)
    return;  // of a program that has ended
  auto place = std::ranges::upper_bound(process.maps, event.time, {}, &MapEvent::time);
  place = process.maps.insert(place, std::move(event));
  // Later mappings hide earlier ones.
  const MapEvent added = *place;
  auto is_hidden = [&](const MapEvent& old) {
    return added.start <= old.start && old.limit() <= added.limit();
  };
  process.maps.erase(std::remove_if(process.maps.begin(), place, is_hidden), place);
  if (process.maps.size() > kMaxKeptMaps)
    process.maps.erase(process.maps.begin());
}

void PastState::add(CommEvent event) {
  Process& process = processes_[event.pid];
  if (event.time < process.begin)
    return;
  // A new program has no mapping and no thread of the one before.
  if (event.is_exec) {
    process.begin = event.time;
    process.names.clear();
    forget_maps_before(process.maps, event.time);
    event.is_exec = false;  // what it ended is gone
  }
  CommEvent& name = process.names[event.tid];
  // Rings of CPUs are read one after the other: an older name may come later.
  if (name.time <= event.time)
    name = std::move(event);
}

// A new process has nothing of an earlier one with its number: mappings and names from before
// the fork are forgotten. Its own may have come before this event, and stay.
void PastState::add(const ForkEvent& event) {
  if (event.pid == event.parent_pid)
    return;  // a new thread: the state has nothing of it until its CommEvent comes
  Process& process = processes_[event.pid];
  if (event.time < process.begin)
    return;
  process.begin = event.time;
  forget_maps_before(process.maps, event.time);
  std::erase_if(process.names,
                [&](const auto& entry) { return entry.second.time < event.time; });
}

// Other threads may go on when the first one has ended, under the name that it had.
void PastState::add(const ExitEvent& event) {
  auto process = processes_.find(event.pid);
  if (process == processes_.end() || event.tid == event.pid)
    return;
  auto name = process->second.names.find(event.tid);
  if (name != process->second.names.end() && name->second.time <= event.time)
    process->second.names.erase(name);
}

void PastState::add(KernelCodeEvent event) {
  if (event.is_removed)
    kernel_code_.erase(event.address);
  else
    kernel_code_.insert_or_assign(event.address, std::move(event));
}

void PastState::add(CgroupEvent event) {
  cgroups_.insert_or_assign(event.id, std::move(event));
}

void PastState::forget(const std::function<bool(uint32_t pid)>& is_over) {
  std::erase_if(processes_, [&](const auto& entry) { return is_over(entry.first); });
}

void PastState::append_to(std::vector<Event>& events, const std::set<uint32_t>& pids) const {
  for (const auto& [id, cgroup] : cgroups_)
    events.emplace_back(cgroup);
  for (const auto& [address, code] : kernel_code_)
    events.emplace_back(code);
  for (uint32_t pid : pids)
    append_process(pid, events);
}

void PastState::append_process(uint32_t pid, std::vector<Event>& events) const {
  auto process = processes_.find(pid);
  if (process == processes_.end())
    return;
  // With the times that they had, by which a reader puts them into order.
  for (const auto& [tid, name] : process->second.names)
    events.emplace_back(name);
  for (const MapEvent& map : process->second.maps)
    events.emplace_back(map);
}

void PastState::forget_gone_cgroups(const std::function<bool(uint64_t id)>& is_needed) {
  // The machine's cgroups are looked at only when there are many to forget.
  auto mount = cgroups_.size() < kManyCgroups ? std::nullopt : proc::cgroup_mount();
  if (!mount)
    return;
  std::erase_if(cgroups_, [&](const auto& entry) {
    return !is_needed(entry.first) && access((*mount + entry.second.path).c_str(), F_OK) != 0 &&
           errno == ENOENT;
  });
}

}  // namespace gosym
