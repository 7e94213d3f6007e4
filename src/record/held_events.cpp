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

// Programs that a process has left within the time that samples need to come. Who executes
// without a pause does it a hundred times in that.
constexpr size_t kMaxBefore = 200;

// Names of a thread within that time: beyond it the last one replaces the one before.
constexpr size_t kMaxNames = 64;

// Mappings of one process, each of which a new one is compared with.
constexpr size_t kMaxMappings = 1024;

size_t memory_of(const RawMapping& mapping) {
  return sizeof(mapping) + mapping.path.capacity();
}

bool overlap(const RawMapping& a, const RawMapping& b) {
  return a.start < b.limit() && b.start < a.limit();
}

bool hides(const RawMapping& by, const RawMapping& old) {
  return by.start <= old.start && old.limit() <= by.limit();
}

bool is_same_place(const RawMapping& a, const RawMapping& b) {
  return a.start == b.start && a.length == b.length && a.file_offset == b.file_offset &&
         a.file.device == b.file.device && a.file.inode == b.file.inode && a.path == b.path;
}

// The last mapping that overlaps `place`; null if there is none.
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
  // Memory is bounded by forgetting all at once: a process that is still there is read from
  // /proc when it has samples.
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
  discount(known->second);
  processes_.erase(known);
}

void HeldEvents::discount(const HeldProcess& process) {
  for (const HeldProcess& earlier : process.before)
    discount(earlier);
  for (const RawMapping& mapping : process.mappings)
    memory_ -= memory_of(mapping);
  for (const HiddenMapping& hidden : process.hidden)
    memory_ -= memory_of(hidden.mapping);
  thread_count_ -= process.threads.size();
}

// True if it is news.
bool HeldEvents::remember(HeldProcess& process, const RawMapping& mapping) {
  // Mappings read from /proc are mostly known from events.
  const RawMapping* known = last_at(process.mappings, mapping);
  if (!known && process.inherited)
    known = last_at(*process.inherited, mapping);
  if (known && is_same_place(*known, mapping))
    return false;
  // Samples from before may still come, so a mapping that the new one covers stays for a while.
  hide(process, mapping);
  bool has_room = process.mappings.size() + process.hidden.size() < kMaxMappings &&
                  memory_ + memory_of(mapping) <= kMaxMemory;
  // Not whole: what is missing is read from /proc when there are samples of it.
  if (!has_room)
    process.whole_since.reset();
  if (has_room) {
    process.mappings.push_back(mapping);
    memory_ += memory_of(process.mappings.back());
  }
  return true;
}

void HeldEvents::hide(HeldProcess& process, const RawMapping& by) {
  auto shown = std::stable_partition(process.mappings.begin(), process.mappings.end(),
                                     [&](const auto& old) { return !hides(by, old); });
  // Mappings that are hidden are kept for samples of an earlier time that may still come.
  for (auto old = shown; old != process.mappings.end(); ++old)
    process.hidden.push_back({std::move(*old), by.time});
  process.mappings.erase(shown, process.mappings.end());
  // Not for samples that have all come, nor for a process that was given out: it was told of
  // them.
  std::erase_if(process.hidden, [&](const HiddenMapping& old) {
    bool is_over = process.is_out || old.since <= forgotten_until_;
    memory_ -= is_over ? memory_of(old.mapping) : 0;
    return is_over;
  });
}

void HeldEvents::on_mmap(RawMapping& mapping, Records& out) {
  release_if_wanted(mapping.pid, out);
  HeldProcess& of = process(mapping.pid);
  if (remember(of, mapping) && of.is_out)
    out.emplace_back(std::move(mapping));
}

// Puts the state aside: samples of the process that had the number until then may still come.
void HeldEvents::begin_anew(uint32_t pid, HeldProcess& process, uint64_t time) {
  bool is_known = process.fork.pid != 0 || process.exec.pid != 0 || process.is_out ||
                  !process.mappings.empty() || !process.threads.empty();
  if (!is_known)
    return;
  // The states before hang on the newest one, not on one another.
  HeldProcess left = std::exchange(process, {});
  process.before = std::exchange(left.before, {});
  left.end = time;
  process.before.push_back(std::move(left));
  if (process.before.size() > kMaxBefore)
    forget_before(process, process.before.front().end);
  // Forgotten by forget_until(), once all samples from before that time have come.
  over_.push_back({pid, 0, time});
}

void HeldEvents::forget_before(HeldProcess& process, uint64_t time) {
  std::erase_if(process.before, [&](const HeldProcess& earlier) {
    bool is_over = earlier.end <= time;
    if (is_over)
      discount(earlier);
    return is_over;
  });
}

void HeldEvents::on_comm(CommEvent& event, Records& out) {
  release_if_wanted(event.pid, out);
  HeldProcess& of = process(event.pid);
  // A new program has none of the mappings and threads of the one before. If the process was
  // given out, it stays so.
  if (event.is_exec) {
    bool is_out = of.is_out;
    begin_anew(event.pid, of, event.time);
    of.exec = event;
    of.is_out = is_out;
    of.whole_since = lost_count_;
  }
  // Beyond the limit names are given out at once or not at all, and the process does not count
  // as whole from then on.
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
  bool is_news = rename(thread, event) || event.is_exec;
  // After an end this is another thread that was given its number.
  thread.has_ended = false;
  thread.is_out |= of.is_out && (event.is_exec || event.tid == event.pid);
  if (thread.is_out && is_news)
    out.emplace_back(std::move(event));
}

// True if it is another name than before. Of the names before only those are kept that a sample
// may still ask for: the one that held when the last samples had come, and those after it; and
// of a thread that was given out, where names are given as they come, the last.
bool HeldEvents::rename(HeldThread& thread, const CommEvent& event) const {
  auto& names = thread.names;
  if (!names.empty() && names.back().name == event.comm)
    return false;
  // A name that it has for a moment only is passed over: most threads give themselves one as
  // the first thing that they do.
  bool is_passed_over = !names.empty() && (event.time < names.back().time + kShortNameTime ||
                                           names.size() == kMaxNames);
  if (is_passed_over)
    names.back().name = event.comm;
  else
    names.push_back({event.time, event.comm});
  uint64_t needed_from = thread.is_out ? event.time : forgotten_until_;
  auto needed = std::ranges::upper_bound(names, needed_from, {}, &HeldName::time);
  if (needed - names.begin() > 1)
    names.erase(names.begin(), std::prev(needed));
  return true;
}

// All mappings of a process at this time, in one piece that children share.
std::shared_ptr<const HeldEvents::Mappings> HeldEvents::all_mappings(
    const HeldProcess& process) {
  // A process that has mapped nothing itself shares its parent's mappings with its children.
  if (process.mappings.empty())
    return process.inherited;
  auto all = std::make_shared<Mappings>();
  if (process.inherited)
    for (const RawMapping& mapping : *process.inherited)
      if (std::ranges::none_of(process.mappings,
                               [&](const RawMapping& own) { return hides(own, mapping); }))
        all->push_back(mapping);
  std::ranges::copy(process.mappings, std::back_inserter(*all));
  return all;
}

void HeldEvents::on_fork(const ForkEvent& event, Records& out) {
  release_if_wanted(event.parent_pid, out);
  HeldProcess& parent = process(event.parent_pid);
  auto named = parent.threads.find(event.parent_tid);
  // A new thread has the name of the one that made it.
  HeldThread thread;
  if (named != parent.threads.end() && !named->second.names.empty())
    thread.names = {{event.time, named->second.names.back().name}};
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
  HeldProcess& child = process(event.pid);
  begin_anew(event.pid, child, event.time);
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
  // It stays until all samples from before its end have come (forget_until()).
  thread->second.has_ended = true;
  over_.push_back({event.pid, event.tid, event.time});
  if (thread->second.is_out)
    out.emplace_back(event);
}

// The number of what has ended may be another's by now: only what was over by that time is
// forgotten of it.
void HeldEvents::forget_until(uint64_t time) {
  for (; !over_.empty() && over_.front().time <= time; over_.pop_front()) {
    auto process = processes_.find(over_.front().pid);
    if (process == processes_.end())
      continue;
    if (over_.front().tid == 0)
      forget_before(process->second, over_.front().time);
    else
      forget_thread(process->first, over_.front().tid, process->second);
  }
  forgotten_until_ = std::max(forgotten_until_, time);
}

// Another may have its number by now. The first thread names its process, also when it has
// ended and others go on.
void HeldEvents::forget_thread(uint32_t pid, uint32_t tid, HeldProcess& process) {
  auto thread = process.threads.find(tid);
  if (tid == pid || thread == process.threads.end() || !thread->second.has_ended)
    return;
  process.threads.erase(thread);
  thread_count_--;
}

bool HeldEvents::is_over(uint32_t pid) const {
  // If events were lost, the end of a thread may be among them: so only a whole account tells.
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

// The program that it ran at a time.
const HeldEvents::HeldProcess& HeldEvents::state_at(const HeldProcess& process, uint64_t time) {
  auto ran = std::ranges::upper_bound(process.before, time, {}, &HeldProcess::end);
  return ran == process.before.end() ? process : *ran;
}

bool HeldEvents::has_given(const HeldProcess& process, uint32_t tid, uint64_t time) {
  const HeldProcess& state = state_at(process, time);
  auto thread = state.threads.find(tid);
  return state.is_out && thread != state.threads.end() && thread->second.is_out;
}

void HeldEvents::want(uint32_t pid, uint32_t tid, uint64_t time) {
  auto known = processes_.find(pid);
  if (known != processes_.end() && has_given(known->second, tid, time))
    return;
  // The earliest sample decides which of the earlier programs are given out.
  Want& want = wanted_.try_emplace(pid, Want{.time = time, .tids = {}}).first->second;
  want.time = std::min(want.time, time);
  if (std::ranges::find(want.tids, tid) == want.tids.end())
    want.tids.push_back(tid);
}

// Gives out the state before an event changes it, as samples may be of the time before.
void HeldEvents::release_if_wanted(uint32_t pid, Records& out) {
  auto want = wanted_.find(pid);
  auto known = processes_.find(pid);
  if (want != wanted_.end() && known != processes_.end())
    release_all(pid, want->second, known->second, out);
}

void HeldEvents::release(uint64_t until, Records& out) {
  for (auto next = wanted_.begin(); next != wanted_.end();) {
    const auto& [pid, want] = *next;
    if (want.time > until) {
      ++next;
      continue;
    }
    HeldProcess& of = process(pid);
    release_all(pid, want, of, out);
    // All events until then are here. What is not known by now has to be read: of the program
    // that runs now.
    if (!is_whole(of))
      unknown_.emplace(pid, std::max({want.time, of.fork.time, of.exec.time}));
    // It counts as whole from here on, as take_unknown() has it read.
    of.whole_since = lost_count_;
    next = wanted_.erase(next);
  }
}

// Gives out all programs from the one on that the first sample is of.
void HeldEvents::release_all(uint32_t pid, const Want& want, HeldProcess& process,
                             Records& out) {
  for (HeldProcess& earlier : process.before)
    if (want.time < earlier.end)
      release_process(pid, want, earlier, out);
  release_process(pid, want, process, out);
}

void HeldEvents::release_process(uint32_t pid, const Want& want, HeldProcess& process,
                                 Records& out) {
  if (!std::exchange(process.is_out, true)) {
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
    for (const HiddenMapping& hidden : process.hidden)
      out.emplace_back(hidden.mapping);
    for (const RawMapping& mapping : process.mappings)
      out.emplace_back(mapping);
    // The first thread names the process.
    release_thread(pid, pid, process, out);
  }
  for (uint32_t tid : want.tids)
    release_thread(pid, tid, process, out);
}

void HeldEvents::release_thread(uint32_t pid, uint32_t tid, HeldProcess& process,
                                Records& out) {
  auto known = process.threads.find(tid);
  if (known == process.threads.end() || std::exchange(known->second.is_out, true))
    return;
  for (const HeldName& name : known->second.names)
    out.emplace_back(CommEvent{name.time, pid, tid, name.name, false});
}

std::map<uint32_t, uint64_t> HeldEvents::take_unknown() {
  return std::exchange(unknown_, {});
}

}  // namespace gosym
