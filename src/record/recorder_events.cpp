#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/overloaded.h"
#include "proc/process.h"
#include "record/recorder.h"

namespace gosym {

namespace {

// /proc/PID/maps of one process is read once a second at the most, and of all together for a
// part of the 50 ms between two looks at the rings.
constexpr uint64_t kReadAgainAfter = 1'000'000'000;
constexpr uint64_t kReadTime = 10'000'000;

// Share of the 50 ms between two looks at the rings: handling many new files, each of which is
// opened to know it again, does not make samples wait for long.
constexpr uint64_t kEventsTime = 20'000'000;

// Holds the events of rings of 20 CPUs. Beyond it the newest are dropped, and count as lost.
constexpr size_t kMaxPending = 200'000;

// More processes than have samples in any second; those beyond are read of when they have more.
constexpr size_t kMaxToRead = 4096;

}  // namespace

ProcessState* Recorder::find(uint32_t pid) {
  auto known = processes_.find(pid);
  return known == processes_.end() ? nullptr : &known->second;
}

// A process may have mapped its code before it comes into a cgroup.
bool Recorder::is_followed(uint32_t pid) const {
  if (has_all_processes())
    return true;
  auto known = processes_.find(pid);
  return known != processes_.end() && known->second.is_followed;
}

uint64_t Recorder::drain_events() {
  uint64_t now = monotonic_ns();
  size_t known = pending_.size();
  sampler_.drain_events(pending_);
  // The bound protects the memory of the recorder; what is dropped is dropped from the end, so
  // that the account up to there is complete.
  if (pending_.size() > kMaxPending) {
    dropped_events_ += pending_.size() - kMaxPending;
    pending_.resize(kMaxPending);
  }
  std::span fresh = std::span(pending_).subspan(std::min(known, pending_.size()));
  // A child gets the code that its parent had then.
  std::ranges::stable_sort(fresh, {}, [](const auto& record) { return time_of(record); });
  for (const SidebandRecord& record : fresh)
    note_code(record);
  fresh_count_ = fresh.size();
  note_losses();
  last_drain_ = now;
  return now;
}

void Recorder::note_code(const SidebandRecord& record) {
  if (const auto* mapping = std::get_if<RawMapping>(&record)) {
    note_code(*mapping);
  } else if (const auto* fork = std::get_if<ForkEvent>(&record)) {
    if (fork->pid != fork->parent_pid)
      inherit_code(*fork);
  } else if (const auto* comm = std::get_if<CommEvent>(&record); comm && comm->is_exec) {
    // Before samples of the new program are seen.
    if (ProcessState* process = find(comm->pid))
      process->places.clear();
  }
}

// Mappings of the child may have been told before its parent's fork, so those that are newer
// than the fork are added to the inherited ones.
void Recorder::inherit_code(const ForkEvent& fork) {
  ProcessState& child = processes_[fork.pid];
  CodeRanges own;
  if (child.code_since >= fork.time)
    own = std::move(child.code);
  const ProcessState* parent = find(fork.parent_pid);
  child.code = parent ? parent->code : CodeRanges();
  for (const CodeRange& range : own)
    add(child.code, range);
  child.code_since = std::max(child.code_since, fork.time);
}

void Recorder::note_code(const RawMapping& mapping) {
  ProcessState& process = processes_[mapping.pid];
  add(process.code, {mapping.start, mapping.start + mapping.length});
  process.code_since = mapping.time;
}

// A loss is noted at the look at the rings that finds it, so it came after the look before.
bool Recorder::is_overrun() const {
  constexpr uint64_t kJustNow = 500'000'000;
  return last_loss_ != 0 && monotonic_ns() - last_loss_ < kJustNow;
}

void Recorder::note_losses() {
  // A refused mapping is missing in its process alone, a lost record may be of any.
  for (uint32_t pid : sampler_.take_refused()) {
    held_.lose_track(pid);
    if (ProcessState* process = find(pid); process && process->is_sampled)
      read_later(pid, *process, last_drain_);
  }
  uint64_t lost = sampler_.lost_events() + dropped_events_;
  if (std::exchange(lost_events_, lost) == lost)
    return;
  last_loss_ = monotonic_ns();
  held_.lose_track();
  for (auto& [pid, process] : processes_)
    if (process.is_sampled)
      read_later(pid, process, last_drain_);
}

// The rings of the CPUs are read one after the other, so what lies in the first may have been
// overtaken by what lies in the last: a process is told before its parent's fork. Only up to
// the moment before the first was read is the account complete.
//
// In between the rings are read, so that samples need not wait for long; what they have is
// handled the next time. So there is an end, and at the deadline an earlier one. Gives the time
// up to which all has been handled.
uint64_t Recorder::handle_events(uint64_t until, uint64_t deadline) {
  std::ranges::stable_sort(pending_, {}, [](const auto& record) { return time_of(record); });
  auto end = std::ranges::upper_bound(pending_, until, {},
                                      [](const auto& record) { return time_of(record); });
  auto count = static_cast<size_t>(end - pending_.begin());
  size_t handled = 0;
  uint64_t look_at = monotonic_ns() + kEventsTime;
  for (uint64_t now = 0; handled < count && now < deadline; now = monotonic_ns()) {
    if (now >= look_at) {
      drain_events();
      drain_samples();
      look_at = monotonic_ns() + kEventsTime;
    }
    handle(pending_[handled++]);
  }
  if (handled < count)
    until = time_of(pending_[handled]) - 1;
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(handled));
  return until;
}

void Recorder::handle(SidebandRecord& record) {
  // Processes that are not followed are dropped here, before anything is kept for them.
  bool is_recorded =
      std::visit(Overloaded{
                     [this](const RawMapping& mapping) { return is_followed(mapping.pid); },
                     [this](const CommEvent& event) { return is_followed(event.pid); },
                     [this](const ForkEvent& event) { return handle_fork(event); },
                     [this](const ExitEvent& event) { return handle_exit(event); },
                     [](const auto&) { return true; },  // of no process
                 },
                 record);
  if (!is_recorded)
    return;
  held_.add(std::move(record), given_);
  handle_given();
}

bool Recorder::handle_fork(const ForkEvent& event) {
  if (!is_followed(event.parent_pid))
    return false;
  if (event.pid == event.parent_pid)
    return true;  // a thread
  if (!options_.scope.follows_children)
    return false;
  ProcessState& child = processes_[event.pid];
  if (child.ended_at)
    replace(event, child);
  child.is_followed = true;
  return true;
}

// Handles a fork whose number belonged to a process that has ended. The code of the new process
// was noted already, and samples may have come, too: nobody can tell for certain which of the
// two they are of.
void Recorder::replace(const ForkEvent& event, ProcessState& process) {
  ProcessState next;
  next.program_since = event.time;
  next.code = process.code;
  next.is_sampled = process.is_sampled;
  replaced_.emplace_back(event.pid, std::exchange(process, std::move(next)));
}

bool Recorder::handle_exit(const ExitEvent& event) {
  bool is_first = event.tid == event.pid;
  if (!is_followed(event.pid)) {
    if (is_first)
      forget(event.pid);
    return false;
  }
  // It has not ended if it can be followed again: it executed a program of other rights.
  if (is_first && !has_all_processes() && sampler_.follow(event.pid)) {
    processes_[event.pid].incomplete_since = event.time;
    processes_[event.pid].lacks_only_code = false;
    to_read_.insert(event.pid);
    return false;
  }
  if (std::erase(live_tids_, event.tid) > 0 && live_tids_.empty())
    have_threads_ended_ = true;
  ProcessState* process = is_first ? &processes_[event.pid] : find(event.pid);
  if (process && (is_first || process->ended_at)) {
    process->ended_at = event.time;
    process->is_gone = false;
    ending_.insert(event.pid);
  }
  return true;
}

void Recorder::handle_given() {
  // To ask once for all files is faster.
  if (given_.size() > 1)
    images_.prepare(given_);
  for (SidebandRecord& record : given_)
    std::visit(Overloaded{
                   [this](RawMapping& mapping) { on_mmap(std::move(mapping)); },
                   [this](CommEvent& event) { on_comm(std::move(event)); },
                   [this](const ForkEvent& event) { on_fork(event); },
                   [this](const ExitEvent& event) { events_.emplace_back(event); },
                   [this](KernelCodeEvent& event) { on_kernel_code(std::move(event)); },
                   [this](CgroupEvent& event) { events_.emplace_back(std::move(event)); },
                   [](const auto&) {},  // the sampler counts what was lost
               },
               record);
  given_.clear();
}

void Recorder::on_mmap(RawMapping mapping) {
  ProcessState& process = processes_[mapping.pid];
  bool is_current = mapping.time >= process.program_since;
  if (is_current && options_.has_user && is_memory(mapping.path))
    perf_maps_.notice(process.perf_map, mapping.pid, mapping.time);
  auto [image, file, is_new, is_at_path] = images_.identify(mapping);
  std::string path = mapping.path;
  MapEvent event = event_of(std::move(mapping), image);
  if (is_current) {
    if (event.image == ImageId{} || is_memory(path))
      look_for_copies(process, event);
    learn_code(process, event, file);
  }
  if (is_new && file)
    archive_.hold(image, std::move(file), path, is_at_path);
  archive_.map(process.images, image);
  events_.emplace_back(std::move(event));
}

// Memory that no file holds in the place of a file's code may have a copy of it, now or soon.
// The kernel has a file of its own for huge pages that are set aside, "/anon_hugepage".
void Recorder::look_for_copies(ProcessState& process, const MapEvent& event) {
  bool is_in_place = contains(process.maybe_copied, event.start) ||
                     std::ranges::any_of(process.places, [&](const CodeRules::Place& place) {
                       return place.start < event.limit() && event.start < place.limit;
                     });
  if (!is_in_place)
    return;
  add(process.maybe_copied, {event.start, event.limit()});
  process.maybe_copied_since = event.time;
  read_later(event.pid, process, event.time);
}

void Recorder::learn_code(ProcessState& process, const MapEvent& event, const UniqueFd& file) {
  const GoProgram* program = images_.go_program(event.image);
  if (program)
    set_go_program(process, *program, event);
  // The rules of Go's code are for samples that come now: those of the next program, if that
  // was executed meanwhile.
  if (!program || !executes_after(event.pid, event.time))
    code_rules_.map(process.places, event, program != nullptr, file);
}

// True if a later exec of the process is pending, so that samples may be of another program.
bool Recorder::executes_after(uint32_t pid, uint64_t time) const {
  return std::ranges::any_of(pending_, [&](const SidebandRecord& record) {
    const auto* comm = std::get_if<CommEvent>(&record);
    return comm && comm->is_exec && comm->pid == pid && comm->time > time;
  });
}

// The first Go program that a process maps is its own, later ones are libraries.
void Recorder::set_go_program(ProcessState& process, const GoProgram& program,
                              const MapEvent& code) {
  if (!program.layout)
    unknown_go_versions_.insert(program.version);
  else if (options_.has_user && !std::exchange(process.has_go_program, true))
    sampler_.set_go_program(program, code);
}

void Recorder::on_comm(CommEvent event) {
  if (event.is_exec)
    on_exec(event);
  events_.emplace_back(std::move(event));
}

void Recorder::on_exec(const CommEvent& event) {
  ProcessState& process = processes_[event.pid];
  // An exec from before the current program changes nothing: its successor is known.
  if (event.time < process.program_since)
    return;
  process.program_since = event.time;
  if (process.unreadable_at && *process.unreadable_at < event.time)
    process.unreadable_at.reset();
  if (process.perf_map) {
    if (process.is_sampled)
      left_perf_maps_.push_back({event.pid, event.time - 1, *process.perf_map});
    PerfMaps::renew(*process.perf_map, event.time);
  }
  if (std::exchange(process.has_go_program, false))
    sampler_.forget_go_program(event.pid);
  process.places.clear();
  process.maybe_copied.clear();
  // A sample from before this exec may still come and want the images.
  if (!process.is_sampled)
    left_images_.push_back({event.pid, event.time, std::move(process.images)});
  leave_images(process);
}

// Gives a child the places and images of its parent. If the fork is given out late, its parent
// may have gone on since, to another program even: then what the child has mapped itself comes
// next, and takes its place.
void Recorder::on_fork(const ForkEvent& event) {
  ProcessState* child = event.pid == event.parent_pid ? nullptr : &processes_[event.pid];
  if (child && event.time >= child->program_since) {
    child->program_since = event.time;
    if (const ProcessState* parent = find(event.parent_pid)) {
      child->places = parent->places;
      child->images = parent->images;
    }
  }
  events_.emplace_back(event);
}

void Recorder::on_kernel_code(KernelCodeEvent event) {
  if (options_.has_kernel)
    events_.emplace_back(std::move(event));
}

// Its program has ended, or the process.
void Recorder::leave_images(ProcessState& process) {
  if (process.is_sampled)
    archive_.want(process.images);
  process.images.clear();
}

// There is a sample of a program that was left without one.
void Recorder::want_left_images(const RecordedSample& sample) {
  for (LeftImages& left : left_images_)
    if (left.pid == sample.pid && sample.time < left.until)
      archive_.want(left.images);
}

// Something happened since then of which no event came.
void Recorder::read_later(uint32_t pid, ProcessState& process, uint64_t since) {
  if (!process.incomplete_since || std::exchange(process.lacks_only_code, false))
    process.incomplete_since = since;
  to_read_.insert(pid);
}

void Recorder::read_incomplete() {
  // Processes that have samples, but whose events were lost, or which came into a cgroup later.
  for (auto [pid, since] : held_.take_unknown()) {
    ProcessState& process = processes_[pid];
    if (!is_followed(pid)) {
      process.is_followed = true;
      sampler_.follow(pid);
    }
    if (to_read_.size() < kMaxToRead)
      read_later(pid, process, since);
  }
  uint64_t now = monotonic_ns();
  for (auto next = to_read_.begin();
       next != to_read_.end() && monotonic_ns() < now + kReadTime;) {
    uint32_t pid = *next;
    ProcessState* process = find(pid);
    // Reading often does not help: a process that maps all the time is incomplete again at
    // once.
    if (process && process->incomplete_since && now < process->read_at + kReadAgainAfter) {
      ++next;
      continue;
    }
    next = to_read_.erase(next);
    if (process && process->incomplete_since) {
      process->read_at = now;
      read_again(pid, *process);
    }
  }
}

void Recorder::read_again(uint32_t pid, ProcessState& process) {
  uint64_t since = *std::exchange(process.incomplete_since, std::nullopt);
  since = std::max(since, process.program_since);
  if (std::exchange(process.lacks_only_code, false))
    snapshot_unknown_code(pid, since);
  else
    snapshot(pid, since);
  // The events that these samples lacked have been read.
  if (contains(process.code, process.unplaced_address))
    process.unplaced_count = 0;
}

// A process ends with its last thread, and is forgotten once all samples and events of it are
// here: those that lay in a ring when it was seen to be gone have come one look later. A
// recorder may run for days, with many processes a second.
Result<> Recorder::forget_ended() {
  if (auto finished = finish_replaced(); !finished)
    return finished;
  // A process may go on for good after its first thread has ended.
  // has_ended() reads /proc for each process that is ending, so it is asked rarely.
  // held_.is_over() is cheap, but needs an account of all threads.
  constexpr uint64_t kEndCheckTime = 250'000'000;
  uint64_t now = monotonic_ns();
  bool is_time = now - last_end_check_ >= kEndCheckTime;
  if (is_time)
    last_end_check_ = now;
  for (auto next = ending_.begin(); next != ending_.end();) {
    uint32_t pid = *next;
    ProcessState* process = find(pid);
    bool is_ending = process && process->ended_at;
    if (is_ending && !process->is_gone) {
      process->is_gone = held_.is_over(pid) || (is_time && proc::has_ended(pid));
      ++next;
      continue;
    }
    next = ending_.erase(next);
    if (!is_ending)
      continue;
    if (auto written = write_perf_map(pid, *process, *process->ended_at); !written)
      return written;
    forget(pid);
  }
  return Ok{};
}

// Often enough to tell code from what comes into its place, and at most for a fiftieth of the
// time.
void Recorder::watch_perf_maps() {
  constexpr uint64_t kWatchTime = 100'000'000;
  constexpr uint64_t kShare = 50;
  uint64_t now = monotonic_ns();
  if (now < next_watch_)
    return;
  for (auto& [pid, process] : processes_)
    if (process.perf_map && process.is_sampled && !process.ended_at)
      PerfMaps::watch(*process.perf_map);
  next_watch_ = now + std::max(kWatchTime, kShare * (monotonic_ns() - now));
}

Result<> Recorder::finish_replaced() {
  for (auto& [pid, process] : std::exchange(replaced_, {})) {
    if (auto written = write_perf_map(pid, process, *process.ended_at); !written)
      return written;
    count_out(process);
  }
  return Ok{};
}

void Recorder::forget(uint32_t pid) {
  if (auto known = processes_.find(pid); known != processes_.end()) {
    count_out(known->second);
    processes_.erase(known);
  }
  held_.forget(pid);
}

// Keeps the counts and the wanted images of a process that is forgotten.
void Recorder::count_out(ProcessState& process) {
  leave_images(process);
  unplaced_count_ += process.unplaced_count;
  unreadable_count_ += process.is_sampled && process.unreadable_at ? 1 : 0;
}

Result<> Recorder::write_perf_map(uint32_t pid, const ProcessState& process, uint64_t time) {
  if (!process.is_sampled || !process.perf_map)
    return Ok{};
  return write(perf_maps_.read(*process.perf_map, pid, time));
}

// The next program of the process may write another one.
Result<> Recorder::write_left_perf_maps() {
  for (const LeftPerfMap& left : std::exchange(left_perf_maps_, {}))
    if (auto written = write(perf_maps_.read_left(left.place, left.pid, left.time)); !written)
      return written;
  return Ok{};
}

Result<> Recorder::write(std::optional<RecordedPerfMap> map) {
  if (!map)
    return Ok{};
  if (!map->problem.empty())
    perf_map_problems_.push_back(fmt::format("'{}': {}", map->path, map->problem));
  return sink_.write_perf_map(*map);
}

}  // namespace gosym
