#include "record/recorder.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "base/overloaded.h"
#include "base/percent.h"
#include "proc/cgroups.h"
#include "proc/machine_id.h"
#include "proc/process.h"
#include "raw/messages.h"
#include "raw/sample_batch.h"
#include "record/files/copied_code.h"
#include "record/perf/perf_ring.h"
#include "record/stacks/passed_callers.h"
#include "record/stacks/stack_slots.h"
#include "record/system_state.h"

namespace gosym {

namespace {

// Longest time without a write. A recorder that is killed loses what was not written: a second
// at most, the wait for a wake-up and the writing included.
constexpr uint64_t kChunkTime = 900'000'000;

// Time between two moments at which memory is given back that is not in use: the heap keeps
// three times as much as is, after the kernel's symbols have been read.
constexpr uint64_t kGiveBackTime = 10'000'000'000;

// Times of samples are multiples of it, in nanoseconds: they are told in 1.4 bytes less each,
// of 10 to 15. An interrupt takes longer.
constexpr uint64_t kTimeUnit = 1024;

// Share of the 50 ms between two looks at the rings: large files do not make samples wait for
// long.
constexpr uint64_t kArchiveTime = 20'000'000;

// Bound for events in one collect(): a user who asks for the end does not wait longer for what
// happened before.
constexpr uint64_t kAllEventsTime = 200'000'000;

// Events of a busy machine in 50 ms: 50 processes with their threads and mappings.
constexpr size_t kManyEvents = 2000;

// At the start, for what is mapped in all processes; and at the end, for what happened last.
constexpr uint64_t kSnapshotTime = 1'000'000'000;
constexpr uint64_t kLastEventsTime = 300'000'000;
constexpr uint64_t kLastLooksTime = 400'000'000;

// A busy machine may make a look take too long, but hardly thrice; a stranger who keeps looks
// at his processes waiting gains no more by it.
constexpr uint32_t kReadAgainTries = 2;

// The named processes, and those of the named threads.
std::vector<uint32_t> target_processes(const Scope& scope) {
  std::vector<uint32_t> pids = scope.pids;
  for (uint32_t tid : scope.tids)
    if (auto status = proc::status_of(tid))
      pids.push_back(status->pid);
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

}  // namespace

RecordingInfo info_of(const SamplerOptions& options, const Sampler& sampler) {
  utsname system{};
  uname(&system);
  std::vector<RecordedEvent> events;
  for (const EventType& event : sampler.events())
    events.push_back(to_recorded(event, options));
  return {
      .gosym_version = GOSYM_VERSION,
      .host = system.nodename,
      .kernel_release = system.release,
      .machine = system.machine,
      .command_line = proc::command_line_of(static_cast<uint32_t>(getpid())),
      .events = std::move(events),
      .cpu_count = sampler.cpu_count(),
      .has_user = options.has_user,
      // A sampler without the rights for it may have given kernel code up.
      .has_kernel = options.has_kernel && sampler.sees_kernel(),
      .is_system_wide = options.scope.is_system_wide,
      .targets = target_processes(options.scope),
      .sampler = sampler.name(),
      .machine_id = proc::machine_id(),
  };
}

Recorder::Recorder(const SamplerOptions& options, Sampler& sampler, RecordingSink& sink,
                   ArchiveChoice archive, uint64_t max_size)
    : options_(options),
      sampler_(sampler),
      sink_(sink),
      live_tids_(options_.scope.tids),
      archive_(options_.has_user ? archive : ArchiveChoice{ArchiveMode::kNone}, helper_),
      max_size_(max_size),
      kallsyms_(options_.has_kernel ? open_kernel_symbols() : UniqueFd()) {
  for (uint32_t pid : target_processes(options_.scope))
    processes_[pid].is_followed = true;
}

Recorder::~Recorder() = default;

Result<> Recorder::start() {
  // The side-band runs, so whatever changes from here on is an event after this time.
  start_time_ = last_write_ = monotonic_ns();
  if (options_.has_user)
    if (auto written = sink_.write_vdso(own_vdso()); !written)
      return written;
  last_drain_ = start_time_;
  snapshot_cgroups();
  snapshot_processes();
  // Before the first sample: it takes a tenth of a second, in which a ring could fill.
  if (options_.has_kernel)
    kernel_symbols_ = KernelSymbols(read_kernel_symbols(kallsyms_.get()));
  kallsyms_ = UniqueFd();
  if (auto written = write(); !written)
    return written;
  sampling_since_ = monotonic_ns();
  return sampler_.start();
}

void Recorder::snapshot_cgroups() {
  for (proc::Cgroup& cgroup : proc::cgroups())
    events_.emplace_back(CgroupEvent{start_time_, cgroup.id, std::move(cgroup.path)});
}

// Reads the named processes, or as many of all as there is time for: the others are read when
// there are samples of them. The rings are read in between, as others can fill them.
void Recorder::snapshot_processes() {
  uint64_t until = start_time_ + kSnapshotTime;
  for (uint32_t pid : processes_at_start()) {
    drain_events();
    if (has_all_processes() && monotonic_ns() > until)
      break;
    // From here on its mappings are recorded as they come, and wait for no sample.
    held_.give_out(pid);
    snapshot(pid, start_time_);
  }
}

std::vector<uint32_t> Recorder::processes_at_start() const {
  if (options_.scope.is_system_wide)
    return proc::process_ids();
  std::vector<uint32_t> pids = target_processes(options_.scope);
  for (const std::string& cgroup : options_.scope.cgroups)
    std::ranges::copy(proc::processes_of_cgroup(cgroup), std::back_inserter(pids));
  return pids;
}

// Takes the mappings of a process and the names of its threads, as of `time`.
void Recorder::snapshot(uint32_t pid, uint64_t time) {
  for (uint32_t tid : proc::thread_ids(pid))
    if (auto comm = proc::comm_of(pid, tid))
      held_.add(CommEvent{time, pid, tid, *std::move(comm), /*is_exec=*/false}, given_);
  // Reading waits for the process's lock on its mappings, which a file system that does not
  // answer may hold: so the helper does it.
  auto maps = helper_.read_maps(pid);
  auto entries = maps ? proc::parse_maps(*maps) : std::move(maps).error();
  ProcessState& process = processes_[pid];
  if (!entries) {
    process.unreadable_at = time;
    // Nobody else tells of mappings that were made before the recording, so it is tried again:
    // a machine that was busy kept the helper from answering in time.
    if (process.unread_count++ < kReadAgainTries)
      read_later(pid, process, time);
    return handle_given();
  }
  process.unreadable_at.reset();
  for (RawMapping& mapping : code_mappings_in(*entries, pid, time)) {
    note_code(mapping);
    held_.add(std::move(mapping), given_);
  }
  // Code that a program has moved into anonymous memory: the events tell of no file there.
  for (RawMapping& copy : find_copied_code(*entries, pid, time))
    held_.add(std::move(copy), given_);
  handle_given();
}

// Gives copies of files' code in anonymous memory as mappings of these files. Memory that is no
// copy now may be one later, as it is mapped before it is written; so it is looked at a few
// times.
std::vector<RawMapping> Recorder::find_copied_code(std::span<const proc::MapsEntry> entries,
                                                   uint32_t pid, uint64_t time) {
  constexpr uint32_t kTries = 4;
  ProcessState& process = processes_[pid];
  // No earlier than the memory was mapped: until then the file's own code lay there.
  uint64_t since = std::max(time, process.maybe_copied_since);
  std::vector<PlaceOfCopy> places = places_of_copies(entries, pid, since);
  if (places.empty() || !options_.has_user)
    return {};
  std::vector<RawMapping> copies = copied_code(places, helper_, memory_.reader_of(pid));
  if (copies.size() < places.size() && process.copy_tries++ < kTries)
    read_later(pid, process, time);
  return copies;
}

// Another process that shares the memory may have mapped code, of which no event of this one
// tells (count_unplaced()). `time` is that of the first sample of such code. Code that events
// told of is left out, because the mappings are read only now and are given as of `time`: what
// lies there may have been mapped since.
void Recorder::snapshot_unknown_code(uint32_t pid, uint64_t time) {
  auto maps = helper_.read_maps(pid);
  auto mappings = maps ? code_mappings_in(*maps, pid, time) : std::move(maps).error();
  if (!mappings)
    return;
  for (RawMapping& mapping : *mappings)
    if (!contains(processes_[pid].code, {mapping.start, mapping.start + mapping.length})) {
      note_code(mapping);
      held_.add(std::move(mapping), given_);
    }
  handle_given();
}

Result<> Recorder::collect() {
  // Processes and programs that were over before the last look at the samples have no more of
  // them. Those that ended later may.
  uint64_t complete_until = std::min(handled_until_, sampled_until_);
  held_.forget_until(complete_until);
  while (!left_images_.empty() && left_images_.front().until <= complete_until)
    left_images_.pop_front();
  // Before the samples, so that most of them find their code known.
  uint64_t drained = drain_events();
  handled_until_ = handle_events(drained, drained + kAllEventsTime);
  drain_samples();
  if (auto forgotten = forget_ended(); !forgotten)
    return forgotten;
  // And after them, for what happened since. Where there is so much that it may not have an
  // end, what came meanwhile waits.
  if (fresh_count_ < kManyEvents) {
    uint64_t now = drain_events();
    handled_until_ = handle_events(now, now + kAllEventsTime);
  }
  // Only now is all known of the processes of these samples, or it was lost.
  held_.release(handled_until_, given_);
  handle_given();
  read_incomplete();
  watch_perf_maps();
  if (auto written = write_left_perf_maps(); !written)
    return written;
  // A second batch is begun only when the first is full.
  if (batches_.size() > 1 || monotonic_ns() - last_write_ >= kChunkTime)
    if (auto written = write(); !written)
      return written;
  return write_archive(monotonic_ns() + kArchiveTime);
}

Result<> Recorder::finish() {
  sampler_.stop();
  end_time_ = monotonic_ns();
  helper_.hurry(kLastLooksTime);
  // The last samples, between the events before and after them.
  drain_events();
  drain_samples();
  drain_events();
  handle_events(end_time_, monotonic_ns() + kLastEventsTime);
  // All that happened is known: what samples want of the held events is given out.
  held_.release(end_time_, given_);
  handle_given();
  read_incomplete();
  // Everything is known, and goes into the file.
  if (auto finished = finish_replaced(); !finished)
    return finished;
  if (auto written = write(); !written)
    return written;
  // Without a limit of time: no sample waits any more.
  if (auto written = write_archive(UINT64_MAX); !written)
    return written;
  if (auto written = write_perf_maps(end_time_); !written)
    return written;
  if (auto written = sink_.write_stats(stats()); !written)
    return written;
  return sink_.write_end(end_time_);
}

Result<> Recorder::end_part() {
  if (auto collected = collect(); !collected)
    return collected;
  if (auto written = write(); !written)
    return written;
  if (auto written = write_perf_maps(last_write_); !written)
    return written;
  // Each file has the perf maps of processes with samples in it, and problems of its own.
  for (auto& [pid, process] : processes_)
    process.is_in_part = false;
  perf_maps_.begin_part();
  archive_.begin_part();
  perf_map_problems_.clear();
  return sink_.write_stats(stats());
}

// `time` is the end of the file that is written, of CLOCK_MONOTONIC.
Result<> Recorder::write_perf_maps(uint64_t time) {
  if (auto written = write_left_perf_maps(); !written)
    return written;
  std::vector<uint32_t> pids;
  for (const auto& [pid, process] : processes_)
    if (process.perf_map && process.is_in_part)
      pids.push_back(pid);
  // By number, and not in the order of a hash table: equal recordings are equal files.
  std::ranges::sort(pids);
  for (uint32_t pid : pids) {
    const ProcessState& process = processes_[pid];
    if (auto written = write_perf_map(pid, process, process.ended_at.value_or(time)); !written)
      return written;
  }
  return Ok{};
}

void Recorder::drain_samples() {
  uint64_t begin = monotonic_ns();
  sampler_.drain_samples(
      [this](RecordedSample sample, const StackTop& top) { on_sample(sample, top); });
  // Not the time of the end: a later sample may lie in a ring that was read before it came.
  sampled_until_ = begin;
}

// True if the process may have mapped code that is not known yet: a program does so within
// milliseconds, and here its code is known only when its files have been looked into.
bool Recorder::may_lack_code(const RecordedSample& sample) const {
  constexpr uint64_t kStartTime = 100'000'000;
  auto known = processes_.find(sample.pid);
  return known == processes_.end() || sample.time < known->second.code_since + kStartTime ||
         !contains(known->second.code, sample.user_stack.front());
}

void Recorder::on_sample(RecordedSample sample, const StackTop& top) {
  // Only words that lead to known code are kept of a stack, so its mappings have to be known
  // first.
  bool lacks_code = !sample.user_stack.empty() && may_lack_code(sample);
  // Events before the sample are known if they were drained after it.
  if (lacks_code && sample.time >= last_drain_)
    drain_events();
  // The rules of code are known once its mapping is handled.
  held_.want(sample.pid, sample.tid, sample.time);
  held_.release(handled_until_, given_);
  handle_given();

  ProcessState& process = processes_[sample.pid];
  if (sample.time < process.program_since)
    want_left_images(sample);
  settle_passed_callers(
      sample, top.passed,
      [&](uint64_t address) { return code_rules_.go_rule(process.places, address); }, settled_);
  // A sampler may have chosen the words itself (Sampler::Handler).
  if (sample.words.empty()) {
    select_words(sample, top, process);
    // Registers are kept if a rule asks for them; all of them if the rule is not known yet.
    if (lacks_code && !ProcessCode(code_rules_, process.places).rule(sample.user_stack.front()))
      take_registers(sample, top, process.code, words_);
    sample.words = words_;
  }

  // No earlier than it was: what the thread did next, after the interrupt, comes later still. A
  // wait ends at its time, when the next one begins.
  if (sample.state.empty())
    sample.time = (sample.time + kTimeUnit - 1) / kTimeUnit * kTimeUnit;
  if (batches_.empty() || batches_.back().is_full())
    batches_.emplace_back();
  raw::Shortened shortened = batches_.back().add(sample);
  shortened_stacks_ += shortened.stack ? 1 : 0;
  shortened_texts_ += shortened.texts ? 1 : 0;
  if (!sample.user_stack.empty() && !contains(process.code, sample.user_stack.front()))
    count_unplaced(sample, process);
  process_count_ += std::exchange(process.is_sampled, true) ? 0 : 1;
  process.is_in_part = true;
  has_kernel_samples_ |= !sample.kernel_stack.empty();
  kernel_symbols_.want(sample.kernel_stack);
}

// Another process that has the same memory may have mapped the code, of which no event of this
// one tells: clone(2) with CLONE_VM. It is looked for after a few such samples, and after twice
// as many each time that it is not found.
void Recorder::count_unplaced(const RecordedSample& sample, ProcessState& process) {
  constexpr uint64_t kFew = 4;
  if (process.unplaced_count++ == 0)
    process.unplaced_since = sample.time;
  process.unplaced_address = sample.user_stack.front();
  // A process that is incomplete is going to be read as a whole anyway.
  if (process.unplaced_count < kFew || !std::has_single_bit(process.unplaced_count) ||
      process.incomplete_since)
    return;
  process.lacks_only_code = true;
  process.incomplete_since = process.unplaced_since;
  to_read_.insert(sample.pid);
}

// Keeps those words of the stack that find callers.
void Recorder::select_words(const RecordedSample& sample, const StackTop& top,
                            const ProcessState& process) {
  ProcessCode code(code_rules_, process.places);
  select_stack_slots(
      sample, top, process.code,
      [&](uint64_t address) { return code_rules_.go_rule(process.places, address); }, words_);
  find_needed_registers(sample, top, process.code, code, words_);
}

// Called at each write. The first time, at the start, the kernel's symbols have just been read.
void Recorder::give_back_memory() {
  if (gave_back_at_ != 0 && last_write_ - gave_back_at_ < kGiveBackTime)
    return;
  gave_back_at_ = last_write_;
  code_rules_.forget_pages();
  malloc_trim(0);
}

Result<> Recorder::write() {
  last_write_ = monotonic_ns();
  give_back_memory();
  // CPUs come and go: what lies in the rings of one that has gone is not lost.
  EventQueue::Records left;
  auto followed = sampler_.follow_cpus(left);
  enqueue(std::move(left));
  if (!followed)
    return followed;
  for (auto& [pid, process] : processes_)
    if (process.is_sampled)
      archive_.want(process.images);
  archive_.choose();

  // Each chunk before those that need it. New images wait for the events that name them.
  if (events_.empty() && batches_.empty())
    return Ok{};
  for (const RecordedImage& image : images_.take_new())
    if (auto written = sink_.write_image(image); !written)
      return written;
  if (!events_.empty())
    if (auto written = sink_.write_events(std::exchange(events_, {})); !written)
      return written;
  if (std::string symbols = kernel_symbols_.take(); !symbols.empty())
    if (auto written = sink_.write_kernel_symbols(symbols); !written)
      return written;
  for (const raw::SampleBatch& batch : std::exchange(batches_, {}))
    if (auto written = sink_.write_samples(batch); !written)
      return written;
  return sink_.write_stats(counts());
}

// Writes pieces of the chosen files until the time is over.
Result<> Recorder::write_archive(uint64_t until) {
  while (monotonic_ns() < until) {
    auto piece = archive_.next(max_size_ - std::min(max_size_, sink_.bytes_written()));
    if (!piece)
      break;
    if (auto written = sink_.write_piece(*piece); !written)
      return written;
    // Only the first piece of a file has its size; one that says why there is none has not.
    archived_ += piece->total > 0;
  }
  return Ok{};
}

RecordingStats Recorder::stats() const {
  RecordingStats stats = counts();
  stats.charged_ns = sampler_.charged_ns();
  return stats;
}

RecordingStats Recorder::counts() const {
  Sampler::Counters counters = sampler_.counters();
  RecordingStats stats{
      .time = last_write_, .cpus = std::move(counters.cpus), .charged_ns = counters.charged_ns};
  for (const CpuCounts& cpu : stats.cpus) {
    stats.samples += cpu.samples;
    stats.lost_samples += cpu.lost_samples;
    stats.lost_events += cpu.lost_events;
  }
  return stats;
}

Recorder::Summary Recorder::summary() const {
  RecordingStats counted = stats();
  uint64_t unplaced = unplaced_count_;
  uint64_t unreadable = unreadable_count_;
  for (const auto& [pid, process] : processes_) {
    unplaced += process.unplaced_count;
    unreadable += process.is_sampled && process.unreadable_at ? 1 : 0;
  }
  // More time in samples than the kernel charged, which makes unsampled_ns() negative, is a
  // fault of the clock, and is told only where chance does not explain it.
  int64_t excess = -unsampled_ns(info_of(options_, sampler_), counted).value_or(0);
  bool is_much = percent(std::max<int64_t>(excess, 0), counted.charged_ns) > kMuchExcess;
  return {
      .samples = counted.samples,
      .lost_samples = counted.lost_samples,
      .lost_events = counted.lost_events + queue_.dropped(),
      .skipped = counted.sum_of(&CpuCounts::skipped),
      .due_ticks = counted.due_ticks(),
      .skipped_percent = counted.skipped_percent(),
      .unfollowed = sampler_.counters().unfollowed,
      .untracked = sampler_.counters().untracked,
      .charged_ns = counted.charged_ns,
      .excess_ns = is_much ? excess : 0,
      .unreadable = unreadable,
      .hung_looks = helper_.hung_count() + sampler_.counters().hung_reads,
      .refused_events = sampler_.counters().refused_events,
      .shortened_stacks = shortened_stacks_,
      .costly_stacks = sampler_.counters().shortened,
      .shortened_texts = shortened_texts_,
      .unplaced = unplaced,
      .lacks_kernel_symbols = has_kernel_samples_ && kernel_symbols_.empty(),
      .perf_map_problems = perf_map_problems_,
      .unknown_go_versions = {unknown_go_versions_.begin(), unknown_go_versions_.end()},
      .archived = archived_,
      .archive_problems = archive_.problems(),
      .process_count = process_count_,
      .duration_ns = end_time_ - sampling_since_,
      .file_size = sink_.bytes_written(),
  };
}

namespace {

// /proc/PID/maps of one process is read once a second at the most, and of all together for a
// part of the 50 ms between two looks at the rings.
constexpr uint64_t kReadAgainAfter = 1'000'000'000;
constexpr uint64_t kReadTime = 10'000'000;

// Share of the 50 ms between two looks at the rings: handling many new files, each of which is
// opened to know it again, does not make samples wait for long.
constexpr uint64_t kEventsTime = 20'000'000;

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
  // Taken before the first ring is read: what comes later may be missing in that.
  uint64_t now = monotonic_ns();
  EventQueue::Records drained;
  sampler_.drain_events(drained);
  std::span fresh = enqueue(std::move(drained));
  fresh_count_ = fresh.size();
  note_losses();
  last_drain_ = now;
  return now;
}

std::span<const SidebandRecord> Recorder::enqueue(EventQueue::Records drained) {
  // In order of time, for a child gets the code that its parent had then.
  std::span fresh = queue_.add(std::move(drained));
  for (const SidebandRecord& record : fresh)
    note_code(record);
  return fresh;
}

void Recorder::note_code(const SidebandRecord& record) {
  if (const auto* mapping = std::get_if<RawMapping>(&record)) {
    note_code(*mapping);
  } else if (const auto* fork = std::get_if<ForkEvent>(&record)) {
    // A thread has its process's code.
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
  // First the parent's, then the child's own, which covers it.
  child.code = parent ? parent->code : CodeRanges();
  for (const CodeRange& range : own)
    add(child.code, range);
  child.code_since = std::max(child.code_since, fork.time);
}

void Recorder::note_code(const RawMapping& mapping) {
  ProcessState& process = processes_[mapping.pid];
  add(process.code, {mapping.start, mapping.start + mapping.length});
  // The rings of the CPUs are read one after the other: it may be older than others.
  process.code_since = std::max(process.code_since, mapping.time);
}

// A loss is noted at the look at the rings that finds it, so it came after the look before.
bool Recorder::is_overrun() const {
  constexpr uint64_t kJustNow = 500'000'000;
  return last_loss_ != 0 && monotonic_ns() - last_loss_ < kJustNow;
}

void Recorder::note_losses() {
  // A refused mapping is missing in its process alone, a lost record may be of any. Both came
  // after the look before this one, which is what last_drain_ still says.
  for (uint32_t pid : sampler_.take_refused()) {
    held_.lose_track(pid);
    if (ProcessState* process = find(pid); process && process->is_sampled)
      read_later(pid, *process, last_drain_);
  }
  uint64_t lost = sampler_.lost_events() + queue_.dropped();
  if (std::exchange(lost_events_, lost) == lost)
    return;
  last_loss_ = monotonic_ns();
  held_.lose_track();
  for (auto& [pid, process] : processes_)
    if (process.is_sampled)
      read_later(pid, process, last_drain_);
}

// Handles what happened up to a time. In between the rings are read, so that samples need not
// wait for long; what they have is handled the next time. So there is an end, and at the
// deadline an earlier one. Gives the time up to which all has been handled.
uint64_t Recorder::handle_events(uint64_t until, uint64_t deadline) {
  queue_.make_ready(until);
  uint64_t look_at = monotonic_ns() + kEventsTime;
  for (uint64_t now = 0; queue_.has_ready() && now < deadline; now = monotonic_ns()) {
    if (now >= look_at) {
      drain_events();
      drain_samples();
      look_at = monotonic_ns() + kEventsTime;
    }
    handle(queue_.take());
  }
  return queue_.taken_until();
}

void Recorder::handle(SidebandRecord record) {
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
  // The number is used again: what the process before it had is finished first.
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
    // There may be an entry for it nevertheless: note_code() makes one for whoever maps code.
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
  // With -t the recording ends with the last of its threads, not with their process.
  if (std::erase(live_tids_, event.tid) > 0 && live_tids_.empty())
    have_threads_ended_ = true;
  // The first thread may end before the others; then each later exit moves the end of the
  // process.
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
  // A mapping of the program before comes late, when its CPU's ring is read after another's: it
  // is recorded, but says nothing of the program that runs.
  bool is_current = mapping.time >= process.program_since;
  // Code that no file holds is a compiler's, which may name it in a perf map.
  if (is_current && options_.has_user && is_memory(mapping.path))
    perf_maps_.notice(process.perf_map, mapping.pid, mapping.time);
  auto [image, file, is_new, is_at_path] = images_.identify(mapping);
  std::string path = mapping.path;
  MapEvent event = event_of(std::move(mapping), image);
  if (is_current) {
    // Memory that no file holds, or huge pages, for which the kernel has a file of its own.
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
  // The copy is made after the mapping, so that it is looked for a little later.
  read_later(event.pid, process, event.time);
}

void Recorder::learn_code(ProcessState& process, const MapEvent& event, const UniqueFd& file) {
  const GoProgram* program = images_.go_program(event.image);
  if (program)
    set_go_program(process, *program, event);
  // The rules of Go's code are for samples that come now: those of the next program, if that
  // was executed meanwhile.
  if (!program || !queue_.has_exec_after(event.pid, event.time))
    code_rules_.map(process.places, event, program != nullptr, file);
}

// The first Go program that a process maps is its own, later ones are libraries. Without a
// layout it is of a version that gosym does not know.
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
  // The map of the program before is still to be read, if that had samples: as of the last
  // moment of that program.
  if (process.perf_map) {
    if (process.is_sampled)
      left_perf_maps_.push_back({event.pid, event.time - 1, *process.perf_map});
    PerfMaps::renew(*process.perf_map, event.time);
  }
  if (std::exchange(process.has_go_program, false))
    sampler_.forget_go_program(event.pid);
  // Places are addresses of the program before.
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

// Something happened since then of which no event came. A process of which only code was to be
// looked for is read as a whole then, and as of this time; else the earlier time stays.
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
// here: those that lay in a ring when it was seen to be gone have come one look later, so it
// stays for one more call after is_gone was set. A recorder may run for days, with many
// processes a second.
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

// Writes the perf map of a process as it is now. `time`, of CLOCK_MONOTONIC, is the end of the
// process or, while it runs, that of the part that is being finished. A process without samples
// has none, nor one with no code but that of files.
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
