#include "raw/event_selection.h"

#include <tsl/robin_set.h>

#include <algorithm>

#include "raw/messages.h"
#include "raw/sample_batch.h"

namespace gosym::raw {

namespace {

// To look for who has samples takes about a twentieth of a report's time: of few events all are
// kept.
constexpr uint64_t kFewEvents = 1 << 20;  // bytes of payload

// Forks come nearly in order of time, so that going backwards once finds nearly all ancestors.
// The limit is against recordings made to be slow.
constexpr int kMaxRounds = 8;

// Numbers of processes and threads alike: Linux gives them from one range.
using Ids = tsl::robin_set<uint32_t>;

// About what an event takes in memory until the end of the report, with what is made of it to
// find it again.
uint64_t memory_of(const Event& event) {
  constexpr uint64_t kIndexed = 320;
  constexpr uint64_t kNoted = 64;
  if (const auto* map = std::get_if<MapEvent>(&event))
    return sizeof(Event) + kIndexed + map->path.capacity();
  if (const auto* comm = std::get_if<CommEvent>(&event))
    return sizeof(Event) + kNoted + comm->comm.capacity();
  if (const auto* code = std::get_if<KernelCodeEvent>(&event))
    return 2 * sizeof(Event) + kIndexed + 2 * code->name.capacity();
  if (const auto* cgroup = std::get_if<CgroupEvent>(&event))
    return sizeof(Event) + kNoted + 2 * cgroup->path.capacity();
  return sizeof(Event) + kNoted;
}

Result<> find_sampled(const Recording& recording, uint64_t budget, Ids& ids) {
  for (const Recording::StoredChunk& chunk : recording.sample_chunks) {
    auto payload = read_payload(chunk);
    if (payload)
      (void)SampleBatch::read_ids(as_bytes(*payload), [&](uint32_t id) { ids.insert(id); });
    if (ids.size() * sizeof(uint64_t) > budget)
      return out_of_budget(recording);
  }
  return Ok{};
}

// Adds the parents of those that are there already, as far as the chunk tells them.
void add_parents(const Recording::StoredChunk& chunk, Ids& ids) {
  auto payload = read_payload(chunk);
  if (!payload)
    return;
  std::vector<ForkEvent> forks;
  (void)decode_events(as_bytes(*payload), [&](Event event) {
    if (const auto* fork = std::get_if<ForkEvent>(&event))
      forks.push_back(*fork);
    return true;
  });
  // clang 14 cannot compile the views of this standard library.
  for (auto fork = forks.rbegin(); fork != forks.rend(); ++fork) {
    if (!ids.contains(fork->pid) && !ids.contains(fork->tid))
      continue;
    ids.insert(fork->parent_pid);
    ids.insert(fork->parent_tid);
  }
}

void add_ancestors(const Recording& recording, Ids& ids) {
  for (int round = 0; round < kMaxRounds; round++) {
    size_t before = ids.size();
    const auto& chunks = recording.event_chunks;
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk)
      add_parents(*chunk, ids);
    if (ids.size() == before)
      return;
  }
}

bool is_needed(const Event& event, const Ids& ids) {
  if (const auto* map = std::get_if<MapEvent>(&event))
    return ids.contains(map->pid);
  if (const auto* comm = std::get_if<CommEvent>(&event))
    return ids.contains(comm->tid) || (comm->is_exec && ids.contains(comm->pid));
  if (const auto* fork = std::get_if<ForkEvent>(&event))
    return ids.contains(fork->tid) ||
           (fork->pid != fork->parent_pid && ids.contains(fork->pid));
  return !std::holds_alternative<ExitEvent>(event);
}

}  // namespace

Result<> read_events(Recording& recording, uint64_t& memory) {
  uint64_t size = 0;
  for (const Recording::StoredChunk& chunk : recording.event_chunks)
    size += chunk.raw_size;
  bool keeps_all = size <= kFewEvents;
  Ids ids;
  if (!keeps_all) {
    if (auto found = find_sampled(recording, recording.memory_budget, ids); !found)
      return found;
    add_ancestors(recording, ids);
    memory += ids.size() * 2 * sizeof(uint64_t);
  }
  for (const Recording::StoredChunk& chunk : recording.event_chunks) {
    size_t before = recording.events.size();
    auto payload = read_payload(chunk);
    bool is_sound = payload && decode_events(as_bytes(*payload), [&](Event event) {
                      if (!keeps_all && !is_needed(event, ids))
                        return true;
                      memory += memory_of(event);
                      recording.events.push_back(std::move(event));
                      return memory <= recording.memory_budget;
                    });
    if (memory > recording.memory_budget)
      return out_of_budget(recording);
    if (is_sound)
      continue;
    recording.events.resize(before);
    recording.damaged_chunks++;
  }
  recording.event_chunks.clear();
  return Ok{};
}

}  // namespace gosym::raw
