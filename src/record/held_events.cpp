#include "record/held_events.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"

namespace gosym {

namespace {

// A busy host has a thousand processes with twenty mappings of 200 bytes, 4 MB.
constexpr size_t kMaxMemory = 32 << 20;
constexpr size_t kMaxThreads = 100'000;
constexpr size_t kMaxHeld = 50'000;

// Of one process, to compare a new one with.
constexpr size_t kMaxMappings = 1024;

size_t memory_of(const RawMapping& mapping) {
  return sizeof(mapping) + mapping.path.capacity();
}

uint64_t limit_of(const RawMapping& mapping) {
  return mapping.start + mapping.length;
}

bool overlap(const RawMapping& a, const RawMapping& b) {
  return a.start < limit_of(b) && b.start < limit_of(a);
}

bool is_same_place(const RawMapping& a, const RawMapping& b) {
  return a.start == b.start && a.length == b.length && a.file_offset == b.file_offset &&
         a.file.device == b.file.device && a.file.inode == b.file.inode && a.path == b.path;
}

// What lies there last; null if nothing does.
const RawMapping* last_at(const std::vector<RawMapping>& mappings, const RawMapping& place) {
  auto found = std::ranges::find_if(mappings.rbegin(), mappings.rend(),
                                    [&](const auto& known) { return overlap(known, place); });
  return found == mappings.rend() ? nullptr : &*found;
}

}  // namespace

void HeldEvents::add(SidebandRecord record, Records& out) {
  std::visit(Overloaded{
                 [&](RawMapping& mapping) { on_mmap(mapping, out); },
                 [&](CommEvent& event) { on_comm(event, out); },
                 [&](ForkEvent& event) { on_fork(event, out); },
                 [&](ExitEvent& event) { on_exit(event, out); },
                 [&](auto& other) { out.emplace_back(std::move(other)); },  // of no process
             },
             record);
}

HeldEvents::HeldProcess& HeldEvents::process(uint32_t pid) {
  if (processes_.size() >= kMaxHeld && !processes_.contains(pid)) {
    processes_.clear();
    memory_ = thread_count_ = 0;
  }
  return processes_[pid];
}

void HeldEvents::forget(uint32_t pid) {
  auto known = processes_.find(pid);
  if (known == processes_.end())
    return;
  clear(known->second);
  processes_.erase(known);
}

void HeldEvents::clear(HeldProcess& process) {
  if (process.before)
    clear(*process.before);
  for (const RawMapping& mapping : process.mappings)
    memory_ -= memory_of(mapping);
  thread_count_ -= process.threads.size();
  process = {};
}

// True if it is news.
bool HeldEvents::remember(HeldProcess& process, const RawMapping& mapping) {
  // What is read from /proc was told by events as a rule.
  const RawMapping* known = last_at(process.mappings, mapping);
  if (!known && process.inherited)
    known = last_at(*process.inherited, mapping);
  if (known && is_same_place(*known, mapping))
    return false;
  // What is hidden for good.
  std::erase_if(process.mappings, [&](const RawMapping& old) {
    bool is_hidden = mapping.start <= old.start && limit_of(old) <= limit_of(mapping);
    memory_ -= is_hidden ? memory_of(old) : 0;
    return is_hidden;
  });
  bool has_room =
      process.mappings.size() < kMaxMappings && memory_ + memory_of(mapping) <= kMaxMemory;
  if (!has_room)
    process.whole_since.reset();
  if (has_room) {
    memory_ += memory_of(mapping);
    process.mappings.push_back(mapping);
  }
  return true;
}

void HeldEvents::on_mmap(RawMapping& mapping, Records& out) {
  release_if_wanted(mapping.pid, out);
  HeldProcess& of = process(mapping.pid);
  if (remember(of, mapping) && of.is_out)
    out.emplace_back(std::move(mapping));
}

void HeldEvents::on_exec(HeldProcess& process, const CommEvent& exec) {
  // Samples of the program before may still come, but none of that before it.
  bool is_out = process.is_out;
  if (process.before)
    clear(*std::exchange(process.before, nullptr));
  if (is_out) {
    clear(process);
  } else {
    auto before = std::make_unique<HeldProcess>(std::move(process));
    process = {};
    process.before = std::move(before);
  }
  process.exec = exec;
  process.is_out = is_out;
  process.whole_since = lost_count_;
}

void HeldEvents::on_comm(CommEvent& event, Records& out) {
  release_if_wanted(event.pid, out);
  HeldProcess& of = process(event.pid);
  if (event.is_exec)
    on_exec(of, event);
  if (thread_count_ >= kMaxThreads && !of.threads.contains(event.tid)) {
    of.whole_since.reset();
    if (of.is_out)
      out.emplace_back(std::move(event));
    return;
  }
  // The name is given out if the thread is out: by its own samples, or as the first thread,
  // after which the process is named.
  auto [place, is_new] = of.threads.try_emplace(event.tid);
  HeldThread& thread = place->second;
  thread_count_ += is_new ? 1 : 0;
  bool is_news = event.is_exec || thread.name != event.comm;
  thread.name = event.comm;
  thread.has_ended = false;
  thread.time = is_new ? event.time : thread.time;
  thread.is_out |= of.is_out && (event.is_exec || event.tid == event.pid);
  if (thread.is_out && is_news)
    out.emplace_back(std::move(event));
}

// As of now, in one piece that children share.
std::shared_ptr<const HeldEvents::Mappings> HeldEvents::all_mappings(
    const HeldProcess& process) {
  if (process.mappings.empty())
    return process.inherited;
  auto all = std::make_shared<Mappings>();
  if (process.inherited)
    for (const RawMapping& mapping : *process.inherited)
      if (!last_at(process.mappings, mapping))
        all->push_back(mapping);
  std::ranges::copy(process.mappings, std::back_inserter(*all));
  return all;
}

void HeldEvents::on_fork(const ForkEvent& event, Records& out) {
  release_if_wanted(event.parent_pid, out);
  HeldProcess& parent = process(event.parent_pid);
  auto named = parent.threads.find(event.parent_tid);
  HeldThread thread = {.time = event.time,
                       .name = named == parent.threads.end() ? "" : named->second.name};
  if (event.pid == event.parent_pid) {
    if (thread_count_ < kMaxThreads)
      thread_count_ += parent.threads.insert_or_assign(event.tid, std::move(thread)).second;
    else
      parent.whole_since.reset();
    return;
  }
  // A child begins with what its parent has mapped; of the number nothing older is true.
  auto whole_since = parent.whole_since;
  std::shared_ptr<const Mappings> inherited = all_mappings(parent);
  forget(event.pid);
  HeldProcess& child = process(event.pid);
  child.fork = event;
  child.whole_since = whole_since;
  child.inherited = std::move(inherited);
  thread_count_ += child.threads.emplace(event.tid, std::move(thread)).second;
}

void HeldEvents::on_exit(const ExitEvent& event, Records& out) {
  release_if_wanted(event.pid, out);
  auto known = processes_.find(event.pid);
  if (known == processes_.end())
    return;
  auto thread = known->second.threads.find(event.tid);
  if (thread == known->second.threads.end())
    return;
  thread->second.has_ended = true;
  ended_.push_back({event.pid, event.tid, event.time});
  if (thread->second.is_out)
    out.emplace_back(event);
}

void HeldEvents::forget_ended(uint64_t time) {
  for (; !ended_.empty() && ended_.front().time <= time; ended_.pop_front()) {
    auto process = processes_.find(ended_.front().pid);
    if (process == processes_.end())
      continue;
    auto thread = process->second.threads.find(ended_.front().tid);
    if (thread == process->second.threads.end() || !thread->second.has_ended)
      continue;
    process->second.threads.erase(thread);
    thread_count_--;
  }
}

bool HeldEvents::is_over(uint32_t pid) const {
  auto known = processes_.find(pid);
  return known == processes_.end() ||
         (is_whole(known->second) &&
          std::ranges::all_of(known->second.threads,
                              [](const auto& thread) { return thread.second.has_ended; }));
}

void HeldEvents::give_out(uint32_t pid) {
  HeldProcess& of = process(pid);
  of.is_out = true;
  of.whole_since = lost_count_;
}

void HeldEvents::lose_track() {
  lost_count_++;
}

void HeldEvents::lose_track(uint32_t pid) {
  if (auto known = processes_.find(pid); known != processes_.end())
    known->second.whole_since.reset();
}

void HeldEvents::want(uint32_t pid, uint32_t tid, uint64_t time) {
  auto known = processes_.find(pid);
  if (known != processes_.end() && known->second.is_out) {
    auto thread = known->second.threads.find(tid);
    if (thread != known->second.threads.end() && thread->second.is_out)
      return;
  }
  Want& want = wanted_.try_emplace(pid, Want{.time = time, .tids = {}}).first->second;
  want.time = std::min(want.time, time);
  if (std::ranges::find(want.tids, tid) == want.tids.end())
    want.tids.push_back(tid);
}

// Before what changes its state, which its samples may precede.
void HeldEvents::release_if_wanted(uint32_t pid, Records& out) {
  auto want = wanted_.find(pid);
  auto known = processes_.find(pid);
  if (want == wanted_.end() || known == processes_.end())
    return;
  if (!known->second.is_out)
    release_process(pid, want->second.time, known->second, out);
  for (uint32_t tid : want->second.tids)
    release_thread(pid, tid, known->second, out);
}

void HeldEvents::release(uint64_t until, Records& out) {
  for (auto next = wanted_.begin(); next != wanted_.end();) {
    const auto& [pid, want] = *next;
    if (want.time > until) {
      ++next;
      continue;
    }
    // All events until then are here. What is not known by now has to be read.
    HeldProcess& of = process(pid);
    if (!of.is_out)
      release_process(pid, want.time, of, out);
    if (!is_whole(of))
      unknown_.emplace(pid, want.time);
    of.whole_since = lost_count_;
    for (uint32_t tid : want.tids)
      release_thread(pid, tid, of, out);
    next = wanted_.erase(next);
  }
}

void HeldEvents::release_process(uint32_t pid, uint64_t sample_time, HeldProcess& process,
                                 Records& out) {
  process.is_out = true;
  // Of the program before the exec only if the sample is of that.
  if (process.before) {
    if (sample_time < process.exec.time)
      release_process(pid, sample_time, *process.before, out);
    clear(*std::exchange(process.before, nullptr));
  }
  // In the order in which it happened; what was inherited is as if mapped by the fork.
  if (process.fork.pid != 0) {
    out.emplace_back(process.fork);
    for (RawMapping mapping : process.inherited ? *process.inherited : Mappings{}) {
      mapping.pid = pid;
      mapping.time = process.fork.time;
      out.emplace_back(std::move(mapping));
    }
  }
  if (process.exec.pid != 0)
    out.emplace_back(process.exec);
  for (const RawMapping& mapping : process.mappings)
    out.emplace_back(mapping);
  release_thread(pid, pid, process, out);
}

// From its beginning on it has the name that it has now: one that a thread gives itself, as a
// rule, as the first thing that it does.
void HeldEvents::release_thread(uint32_t pid, uint32_t tid, HeldProcess& process,
                                Records& out) {
  auto known = process.threads.find(tid);
  if (known == process.threads.end() || std::exchange(known->second.is_out, true))
    return;
  if (!known->second.name.empty())
    out.emplace_back(CommEvent{known->second.time, pid, tid, known->second.name, false});
}

std::map<uint32_t, uint64_t> HeldEvents::take_unknown() {
  return std::exchange(unknown_, {});
}

}  // namespace gosym
