#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "raw/sample_batch.h"
#include "record/recorder.h"

namespace gosym {

namespace {

// /proc/PID/maps of one process is read once a second at the most, and of all together for a
// part of the 50 ms between two looks at the rings.
constexpr uint64_t kReadAgainAfter = 1'000'000'000;
constexpr uint64_t kReadTime = 10'000'000;

// Of the 50 ms between two looks at the rings: many new files, each of which is opened to know
// it again, do not make samples wait for long.
constexpr uint64_t kEventsTime = 20'000'000;

// As many as rings of 20 CPUs hold. Who makes more at once than can be taken is not heard.
constexpr size_t kMaxPending = 200'000;

// More processes than have samples in any second; those beyond are read of when they have more.
constexpr size_t kMaxToRead = 4096;

}  // namespace

uint64_t Recorder::drain_sideband() {
  uint64_t now = monotonic_ns();
  size_t known = pending_.size();
  sampler_.drain_events(pending_);
  if (pending_.size() > kMaxPending) {
    dropped_events_ += pending_.size() - kMaxPending;
    pending_.resize(kMaxPending);
  }
  std::span fresh = std::span(pending_).subspan(std::min(known, pending_.size()));
  std::ranges::stable_sort(fresh, {}, [](const auto& record) { return time_of(record); });
  for (const SidebandRecord& record : fresh) {
    code_.apply(record);
    // Before samples of the new program are seen.
    if (const auto* comm = std::get_if<CommEvent>(&record); comm && comm->is_exec)
      code_rules_.forget(comm->pid);
  }
  fresh_count_ = fresh.size();
  note_losses();
  last_drain_ = now;
  return now;
}

// What was lost came after the last look at the rings.
void Recorder::note_losses() {
  for (uint32_t pid : sampler_.take_refused()) {
    held_.lose_track(pid);
    if (sampled_.contains(pid))
      to_read_.try_emplace(pid, Rereading{.since = last_drain_, .not_before = 0});
  }
  uint64_t lost = sampler_.lost_events() + dropped_events_;
  if (std::exchange(lost_events_, lost) == lost)
    return;
  held_.lose_track();
  for (uint32_t pid : sampled_)
    to_read_.try_emplace(pid, Rereading{.since = last_drain_, .not_before = 0});
}

// The rings of the CPUs are read one after the other, so what lies in the first may have been
// overtaken by what lies in the last: a process is told before its parent's fork. Only up to
// the moment before the first was read is the account complete.
//
// In between the rings are read, so that samples need not wait for long; what they have is
// taken the next time. So there is an end, and at the deadline an earlier one. Gives the time
// up to which all has been taken.
uint64_t Recorder::keep_events(uint64_t until, uint64_t deadline) {
  std::ranges::stable_sort(pending_, {}, [](const auto& record) { return time_of(record); });
  auto end = std::ranges::upper_bound(pending_, until, {},
                                      [](const auto& record) { return time_of(record); });
  auto count = static_cast<size_t>(end - pending_.begin());
  size_t taken = 0;
  uint64_t look_at = monotonic_ns() + kEventsTime;
  for (uint64_t now = 0; taken < count && now < deadline; now = monotonic_ns()) {
    if (now >= look_at) {
      drain_sideband();
      drain_samples();
      look_at = monotonic_ns() + kEventsTime;
    }
    take(pending_[taken++]);
  }
  if (taken < count)
    until = time_of(pending_[taken]) - 1;
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(taken));
  return until;
}

void Recorder::take(SidebandRecord& record) {
  if (!std::visit([this](const auto& event) { return is_of_interest(event); }, record))
    return;
  held_.add(std::move(record), given_);
  keep_given();
}

void Recorder::keep_given() {
  if (given_.size() > 1)
    images_.prepare(given_);
  for (SidebandRecord& record : given_)
    std::visit([this](auto& event) { keep(std::move(event)); }, record);
  given_.clear();
}

// Of sampled processes whose events did not come, or not all.
void Recorder::read_unknown() {
  for (auto [pid, since] : held_.take_unknown()) {
    if (!is_followed(pid)) {
      followed_.insert(pid);
      sampler_.follow(pid);
    }
    if (to_read_.size() < kMaxToRead)
      to_read_.try_emplace(pid, Rereading{.since = since, .not_before = 0});
  }
  uint64_t now = monotonic_ns();
  for (auto next = to_read_.begin();
       next != to_read_.end() && monotonic_ns() < now + kReadTime;) {
    auto [pid, reading] = *next;
    auto last = read_at_.find(pid);
    if (last != read_at_.end() && now < last->second + kReadAgainAfter) {
      ++next;
      continue;
    }
    read_at_[pid] = now;
    next = to_read_.erase(next);
    read_again(pid, reading.since);
  }
}

void Recorder::read_again(uint32_t pid, uint64_t since) {
  snapshot(pid, since);
  auto unplaced = unplaced_.find(pid);
  if (unplaced != unplaced_.end() && contains(code_.of(pid), unplaced->second.address))
    unplaced_.erase(unplaced);
}

bool Recorder::is_of_interest(const ForkEvent& event) {
  if (!is_followed(event.parent_pid))
    return false;
  bool is_child = event.pid != event.parent_pid;
  if (is_child && !options_.scope.follows_children)
    return false;
  if (is_child)
    ending_.erase(event.pid);  // one of this number, long ago
  if (!has_all_processes())
    followed_.insert(event.pid);
  return true;
}

bool Recorder::is_of_interest(const ExitEvent& event) {
  if (!is_followed(event.pid)) {
    if (event.tid == event.pid)
      code_.forget(event.pid);
    return false;
  }
  // It has not ended if it can be followed again: it executed a program of other rights.
  if (event.tid == event.pid && !has_all_processes() && sampler_.follow(event.pid)) {
    to_read_[event.pid] = {.since = event.time, .not_before = 0};
    return false;
  }
  if (std::erase(live_tids_, event.tid) > 0 && live_tids_.empty())
    have_threads_ended_ = true;
  if (event.tid == event.pid || ending_.contains(event.pid))
    ending_[event.pid] = {event.time};
  return true;
}

void Recorder::keep(RawMapping mapping) {
  if (options_.has_user && is_memory(mapping.path))
    perf_maps_.notice(mapping.pid, mapping.time);
  auto [image, file, is_new, is_at_path] = images_.identify(mapping);
  std::string path = mapping.path;
  MapEvent event = event_of(std::move(mapping), image);
  const GoProgram* program = images_.go_program(image);
  if (program)
    keep(*program, event);
  if (!program || !executes_after(event.pid, event.time))
    code_rules_.map(event, program != nullptr, file);
  if (is_new && file)
    archive_.hold(image, std::move(file), path, is_at_path);
  archive_.map(event.pid, image);
  events_.emplace_back(std::move(event));
}

// Whether it is known by now that the process went on to another program, of which there may be
// samples.
bool Recorder::executes_after(uint32_t pid, uint64_t time) const {
  return std::ranges::any_of(pending_, [&](const SidebandRecord& record) {
    const auto* comm = std::get_if<CommEvent>(&record);
    return comm && comm->is_exec && comm->pid == pid && comm->time > time;
  });
}

// Of several in one process the first is its program, and not a library.
void Recorder::keep(const GoProgram& program, const MapEvent& code) {
  if (!program.layout)
    unknown_go_versions_.insert(program.version);
  else if (options_.has_user && go_processes_.insert(code.pid).second)
    sampler_.set_go_program(code.pid, program, program.offset_at_in(code));
}

void Recorder::forget_go_program(uint32_t pid) {
  if (go_processes_.erase(pid) > 0)
    sampler_.forget_go_program(pid);
}

void Recorder::leave_images(uint32_t pid) {
  if (sampled_.contains(pid))
    archive_.want(pid);
  archive_.forget(pid);
}

void Recorder::keep(CommEvent event) {
  if (event.is_exec) {
    perf_maps_.renew(event.pid, event.time);
    forget_go_program(event.pid);
    code_rules_.forget(event.pid);
    leave_images(event.pid);
  }
  events_.emplace_back(std::move(event));
}

void Recorder::keep(ForkEvent event) {
  if (event.pid != event.parent_pid)
    code_rules_.fork(event.parent_pid, event.pid);
  archive_.fork(event.parent_pid, event.pid);
  events_.emplace_back(event);
}

void Recorder::keep(CgroupEvent event) {
  events_.emplace_back(std::move(event));
}

void Recorder::keep(KernelCodeEvent event) {
  if (options_.has_kernel)
    events_.emplace_back(std::move(event));
}

}  // namespace gosym
