#include "record/keeper.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <csignal>

#include "confine/channel.h"
#include "confine/child.h"
#include "confine/process_kind.h"
#include "record/bpf/ring.h"

// Until start() all requests are performed by this process; from then on by a child that was
// forked with the lists of events and maps, and with rights. Requests name an event or a map
// by its place in these lists and nothing else, so that whatever a recorder is made to ask for
// lies within what was kept for it.

namespace gosym {

void Keeper::keep_event(const perf_event_attr& attr) {
  events_.push_back(attr);
}

void Keeper::keep_map(const bpf_map* map, MapUse use) {
  assert(bpf_map__key_size(map) <= sizeof(KeyBytes) &&
         bpf_map__value_size(map) <= sizeof(ValueBytes));
  maps_.push_back({bpf_map__fd(map), use, bpf_map__max_entries(map)});
}

void Keeper::keep_rings(const bpf_map* rings, uint32_t ring_size) {
  rings_ = bpf_map__fd(rings);
  ring_size_ = ring_size;
}

void Keeper::forget_all() {
  events_.clear();
  maps_.clear();
  rings_ = -1;
}

Result<> Keeper::start(int command) {
  command_ = command;
  // All other descriptors are closed in the child.
  std::vector<int> kept;
  for (const KeptMap& map : maps_)
    kept.push_back(map.fd);
  for (int fd : {rings_, command})
    if (fd >= 0)
      kept.push_back(fd);
  // Without a map or a command there is no process, and events are opened by this one.
  if (kept.empty())
    return Ok{};
  if (start_child(channel_, std::move(kept), [this](int channel) { serve(channel); }) < 0)
    return system_error("cannot start a process", errno);
  return Ok{};
}

UniqueFd Keeper::open_event(const perf_event_attr& attr, uint32_t cpu, pid_t thread) {
  auto is_it = [&](const perf_event_attr& kept) {
    return std::memcmp(&kept, &attr, sizeof(attr)) == 0;
  };
  // Before it is started this process has its rights, and opens events itself.
  if (!channel_)
    return open_perf_event(attr, cpu, thread);
  // An attribute that was not kept has the index behind all, which the keeper refuses.
  auto index = std::ranges::find_if(events_, is_it) - events_.begin();
  UniqueFd event;
  Reply reply = ask({.task = Task::kOpenEvent,
                     .index = static_cast<uint32_t>(index),
                     .cpu = cpu,
                     .thread = thread},
                    event);
  errno = reply.error;
  return event;
}

UniqueFd Keeper::make_ring(uint32_t cpu) {
  UniqueFd ring;
  Reply reply = ask({.task = Task::kMakeRing, .cpu = cpu}, ring);
  errno = reply.error;
  return ring;
}

void Keeper::signal_command(int signal) {
  UniqueFd none;
  ask({.task = Task::kSignal, .index = static_cast<uint32_t>(signal)}, none);
}

void Keeper::ask_of_map(const bpf_map* map, Request& request) {
  auto index = std::ranges::find(maps_, bpf_map__fd(map), &KeptMap::fd) - maps_.begin();
  request.index = static_cast<uint32_t>(index);
  UniqueFd none;
  ask(request, none);
}

// Asks for as many entries at a time as a reply holds. A map that was not kept has none.
std::vector<Keeper::Entry> Keeper::all_entries(const bpf_map* map) {
  auto kept = std::ranges::find(maps_, bpf_map__fd(map), &KeptMap::fd);
  std::vector<Entry> found;
  Request request{.task = Task::kList, .index = static_cast<uint32_t>(kept - maps_.begin())};
  UniqueFd none;
  // No more than the map has room for: a key that goes makes the kernel begin anew, without
  // end.
  while (kept != maps_.end() && found.size() < kept->max_entries) {
    Reply reply = ask(request, none);
    size_t count = std::min<size_t>(reply.count, reply.entries.size());
    found.insert(found.end(), reply.entries.begin(), reply.entries.begin() + count);
    if (reply.error != 0 || reply.is_last != 0)
      break;
    request.has_key = 1;
    request.key = reply.last;
  }
  return found;
}

bool Keeper::has_reply(Task task) {
  return task == Task::kOpenEvent || task == Task::kMakeRing || task == Task::kList;
}

Keeper::Reply Keeper::ask(const Request& request, UniqueFd& given) {
  if (!channel_)
    return perform(request, given);
  // A request and its reply belong together: several threads may ask.
  std::lock_guard lock(asking_);
  Reply reply;
  // The length of the reply varies with its entries; the head always comes. A task that has no
  // reply counts as done once it was sent.
  if (!send_message(channel_.get(), request, sizeof(request), -1) ||
      (has_reply(request.task) &&
       !receive_message(channel_.get(), reply, offsetof(Reply, entries), given)))
    reply.error = EPIPE;
  return reply;
}

// Whoever asks may have been taken over.
Keeper::Reply Keeper::perform(const Request& request, UniqueFd& given) const {
  Reply reply;
  errno = 0;
  switch (request.task) {
    case Task::kOpenEvent:
      given = open(request);
      reply.error = given ? 0 : errno;
      return reply;
    case Task::kMakeRing:
      given = make_ring(request);
      reply.error = given ? 0 : errno;
      return reply;
    case Task::kSignal:
      // The descriptor is the command's, so no other process can be signalled.
      if (request.index == SIGINT || request.index == SIGTERM)
        syscall(SYS_pidfd_send_signal, command_, request.index, nullptr, 0);
      return reply;
    // The tasks below are of a map.
    default:
      break;
  }
  // A map may be used only as it was kept for: targets are read, goroutines' programs changed.
  MapUse use = request.task == Task::kList ? MapUse::kRead : MapUse::kChange;
  if (request.index >= maps_.size() || maps_[request.index].use != use) {
    reply.error = EINVAL;
    return reply;
  }
  // Maps are known by their index in a list that was made before anything was read: no
  // descriptor comes from outside.
  const KeptMap& map = maps_[request.index];
  if (request.task == Task::kPut)
    bpf_map_update_elem(map.fd, request.key.data(), request.value.data(), request.flags);
  else if (request.task == Task::kRemove)
    bpf_map_delete_elem(map.fd, request.key.data());
  else if (request.task == Task::kList)
    list(map, request, reply);
  return reply;
}

UniqueFd Keeper::open(const Request& request) const {
  errno = EINVAL;
  if (request.index >= events_.size())
    return {};
  const perf_event_attr& attr = events_[request.index];
  // An event for a thread may not be opened for a whole CPU, nor the other way round.
  bool is_of_thread = attr.inherit != 0;
  if (is_of_thread ? request.thread <= 0 : request.thread != kAnyThread)
    return {};
  return open_perf_event(attr, request.cpu, request.thread);
}

UniqueFd Keeper::make_ring(const Request& request) const {
  // The kernel refuses a CPU that the map of rings has no place for.
  UniqueFd ring = create_ring(ring_size_);
  int fd = ring.get();
  if (!ring || bpf_map_update_elem(rings_, &request.cpu, &fd, BPF_ANY) != 0)
    return {};
  return ring;
}

void Keeper::list(const KeptMap& map, const Request& request, Reply& reply) {
  // A message has room for some entries; the next request goes on behind the last one.
  reply.last = request.key;
  const void* before = request.has_key != 0 ? reply.last.data() : nullptr;
  for (size_t i = 0; i < reply.entries.size(); i++) {
    KeyBytes key{};
    if (bpf_map_get_next_key(map.fd, before, key.data()) != 0) {
      reply.is_last = 1;
      return;
    }
    Entry& entry = reply.entries[reply.count];
    entry.key = reply.last = key;
    before = reply.last.data();
    // A key that has gone since is skipped, and its place in the message used for the next.
    if (bpf_map_lookup_elem(map.fd, key.data(), entry.value.data()) == 0)
      reply.count++;
  }
}

void Keeper::serve(int channel) const {
  libbpf_set_print(nullptr);
  enter(ProcessKind::kKeeper);
  Request request{};
  UniqueFd none;
  while (receive_message(channel, request, sizeof(request), none)) {
    // Requests have no descriptor: one that was sent is closed.
    none = UniqueFd();
    UniqueFd given;
    // Requests that nobody waits for have no reply, or the channel would fill with them.
    Reply reply = perform(request, given);
    if (has_reply(request.task) &&
        !send_message(channel, reply, offsetof(Reply, entries) + reply.count * sizeof(Entry),
                      given.get()))
      return;
  }
}

}  // namespace gosym
