#include "record/recorder.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/clock.h"
#include "base/percent.h"
#include "proc/cgroups.h"
#include "proc/machine_id.h"
#include "proc/process.h"
#include "raw/format.h"
#include "raw/sample_batch.h"
#include "record/files/copied_code.h"
#include "record/perf/perf_event.h"
#include "record/snapshot.h"
#include "record/stacks/passed_callers.h"
#include "record/stacks/stack_slots.h"

namespace gosym {

namespace {

// Longest time without a write. A recorder that is killed loses what was not written: a second
// at most, the wait for a wake-up and the writing included.
constexpr uint64_t kChunkTime = 900'000'000;

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
      held_.add(CommEvent{time, pid, tid, *std::move(comm), false}, given_);
  auto maps = helper_.read_maps(pid);
  auto entries = maps ? proc::parse_maps(*maps) : std::move(maps).error();
  ProcessState& process = processes_[pid];
  if (!entries) {
    process.unreadable_at = time;
    if (process.unread_count++ < kReadAgainTries)
      read_later(pid, process, time);
    return handle_given();
  }
  process.unreadable_at.reset();
  for (RawMapping& mapping : code_mappings_in(*entries, pid, time)) {
    note_code(mapping);
    held_.add(std::move(mapping), given_);
  }
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
  uint64_t since = std::max(time, process.maybe_copied_since);
  std::vector<PlaceOfCopy> places = places_of_copies(entries, pid, since);
  if (places.empty() || !options_.has_user)
    return {};
  std::vector<RawMapping> copies = copied_code(places, helper_, memory_.reader_of(pid));
  if (copies.size() < places.size() && process.copy_tries++ < kTries)
    read_later(pid, process, time);
  return copies;
}

// Code that events told of stays as it is: it may have changed since that time.
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
  held_.release(end_time_, given_);
  handle_given();
  read_incomplete();
  // Everything is known, and goes into the file.
  if (auto finished = finish_replaced(); !finished)
    return finished;
  if (auto written = write(); !written)
    return written;
  if (auto written = write_archive(UINT64_MAX); !written)
    return written;
  if (auto written = write_perf_maps(); !written)
    return written;
  if (auto written = sink_.write_stats(stats()); !written)
    return written;
  return sink_.write_end(end_time_);
}

Result<> Recorder::write_perf_maps() {
  if (auto written = write_left_perf_maps(); !written)
    return written;
  std::vector<uint32_t> pids;
  for (const auto& [pid, process] : processes_)
    if (process.perf_map)
      pids.push_back(pid);
  std::ranges::sort(pids);
  for (uint32_t pid : pids) {
    const ProcessState& process = processes_[pid];
    if (auto written = write_perf_map(pid, process, process.ended_at.value_or(end_time_));
        !written)
      return written;
  }
  return Ok{};
}

void Recorder::drain_samples() {
  uint64_t begin = monotonic_ns();
  sampler_.drain_samples(
      [this](RecordedSample sample, const StackTop& top) { on_sample(sample, top); });
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

  if (batches_.empty() || batches_.back().size_in_memory() >= raw::kUsualPayloadSize)
    batches_.emplace_back();
  raw::Shortened shortened = batches_.back().add(sample);
  shortened_stacks_ += shortened.stack ? 1 : 0;
  shortened_texts_ += shortened.texts ? 1 : 0;
  if (!sample.user_stack.empty() && !contains(process.code, sample.user_stack.front()))
    count_unplaced(sample, process);
  process_count_ += std::exchange(process.is_sampled, true) ? 0 : 1;
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

Result<> Recorder::write() {
  last_write_ = monotonic_ns();
  if (auto followed = sampler_.follow_cpus(pending_); !followed)
    return followed;
  for (auto& [pid, process] : processes_)
    if (process.is_sampled)
      archive_.want(process.images);
  archive_.choose();

  // Each chunk before those that need it.
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
  return sink_.write_stats(stats());
}

// Writes pieces of the chosen files until the time is over.
Result<> Recorder::write_archive(uint64_t until) {
  while (monotonic_ns() < until) {
    auto piece = archive_.next(max_size_ - std::min(max_size_, sink_.bytes_written()));
    if (!piece)
      break;
    if (auto written = sink_.write_piece(*piece); !written)
      return written;
    archived_ += piece->total > 0;
  }
  return Ok{};
}

RecordingStats Recorder::stats() const {
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
  int64_t excess = -unsampled_ns(info_of(options_, sampler_), counted).value_or(0);
  bool is_much = percent(std::max<int64_t>(excess, 0), counted.charged_ns) > kMuchExcess;
  return {
      .samples = counted.samples,
      .lost_samples = counted.lost_samples,
      .lost_events = counted.lost_events + dropped_events_,
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

}  // namespace gosym
