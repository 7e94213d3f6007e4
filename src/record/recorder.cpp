#include "record/recorder.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "proc/cgroups.h"
#include "proc/process.h"
#include "raw/format.h"
#include "record/rights.h"
#include "record/snapshot.h"

namespace gosym {

namespace {

// What was not written is lost when the recorder is killed: a second at most, the wait for a
// wake-up and the writing included.
constexpr uint64_t kChunkTime = 900'000'000;

// Where others want the CPU as well, the rings are full before it is our turn. With five busy
// processes a CPU and 4,999 samples a second, 3 % were lost without this, and none with it.
// It takes CAP_SYS_NICE.
void go_before_others() {
  setpriority(PRIO_PROCESS, 0, -20);
}

}  // namespace

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Recorder::Recorder(SamplerOptions options)
    : options_(std::move(options)),
      followed_(options_.scope.pids.begin(), options_.scope.pids.end()),
      live_tids_(options_.scope.tids) {
  for (uint32_t tid : live_tids_)
    if (auto status = proc::status_of(tid))
      followed_.insert(status->pid);
}

Result<std::unique_ptr<Recorder>> Recorder::open(const SamplerOptions& options) {
  if (auto usable = check_kernel(); !usable)
    return std::move(usable).error();
  std::unique_ptr<Recorder> recorder(new Recorder(options));
  auto sampler = Sampler::open(options);
  if (!sampler)
    return std::move(sampler).error();
  recorder->sampler_ = *std::move(sampler);
  return recorder;
}

Result<> Recorder::start(const std::string& path) {
  auto writer = raw::Writer::create(path, info());
  if (!writer)
    return std::move(writer).error();
  writer_ = *std::move(writer);

  // The side-band runs, so whatever changes from here on is an event after this time.
  start_time_ = last_write_ = monotonic_ns();
  if (options_.has_user)
    if (auto written = writer_->write_vdso(own_vdso()); !written)
      return written;
  snapshot_cgroups();
  for (uint32_t pid : has_all_processes() ? proc::process_ids() : first_processes())
    snapshot(pid);
  if (options_.has_kernel)
    kernel_symbols_ = read_kernel_symbols();
  if (auto written = write(); !written)
    return written;
  go_before_others();
  return sampler_->start();
}

RecordingInfo Recorder::info() const {
  utsname system{};
  uname(&system);
  return {
      .gosym_version = GOSYM_VERSION,
      .host = system.nodename,
      .kernel_release = system.release,
      .machine = system.machine,
      .command_line = proc::command_line_of(static_cast<uint32_t>(getpid())),
      .event = sampler_->event().name,
      .frequency = options_.period == 0 ? options_.frequency : 0,
      .period = options_.period,
      .cpu_count = sampler_->cpu_count(),
      .has_user = options_.has_user,
      .has_kernel = options_.has_kernel,
      .is_system_wide = options_.scope.is_system_wide,
      .targets = first_processes(),
  };
}

// A process may have mapped its code before it comes into a cgroup.
bool Recorder::is_followed(uint32_t pid) const {
  return has_all_processes() || followed_.contains(pid);
}

std::vector<uint32_t> Recorder::first_processes() const {
  return {followed_.begin(), followed_.end()};
}

void Recorder::snapshot_cgroups() {
  for (proc::Cgroup& cgroup : proc::cgroups())
    events_.emplace_back(CgroupEvent{start_time_, cgroup.id, std::move(cgroup.path)});
}

void Recorder::snapshot(uint32_t pid) {
  for (uint32_t tid : proc::thread_ids(pid))
    if (auto comm = proc::comm_of(pid, tid))
      events_.emplace_back(CommEvent{start_time_, pid, tid, *std::move(comm), false});
  auto mappings = code_mappings_of(pid, start_time_);
  if (!mappings) {
    unreadable_.push_back(pid);
    return;
  }
  for (RawMapping& mapping : *mappings) {
    code_.apply(mapping);
    keep(std::move(mapping));
  }
}

Result<> Recorder::collect() {
  drain_sideband();
  drain_samples();
  code_.forget_ended();
  // Now that all samples of them are here.
  if (auto written = write_perf_maps_of_ended(); !written)
    return written;
  uint64_t now = monotonic_ns();
  drain_sideband();
  keep_events(now);
  bool wants_symbols = has_kernel_samples_ && !kernel_symbols_.empty();
  bool is_due = batches_.size() > 1 || monotonic_ns() - last_write_ >= kChunkTime;
  return is_due || wants_symbols ? write() : Ok{};
}

Result<> Recorder::finish() {
  sampler_->stop();
  end_time_ = monotonic_ns();
  drain_sideband();
  drain_samples();
  drain_sideband();
  keep_events(UINT64_MAX);
  if (auto written = write(); !written)
    return written;
  if (auto written = write_perf_maps_of_ended(); !written)
    return written;
  for (uint32_t pid : perf_maps_.pids())
    if (auto written = write_perf_map(pid, end_time_); !written)
      return written;
  if (auto written = writer_->write_stats(stats()); !written)
    return written;
  return writer_->write_end(end_time_);
}

void Recorder::drain_samples() {
  sampler_->drain_samples(
      [this](RecordedSample sample, uint64_t stack_pointer, std::span<const uint64_t> top) {
        keep(sample, stack_pointer, top);
      });
}

// Of the stack only what can be of use to find callers leaves this function: return addresses,
// and frame pointers, each of which was saved below the place that it points to. Where the
// stack was taken up to the frame that the frame pointer leads to, that is all there is to know
// of frame pointers.
void Recorder::keep(RecordedSample sample, uint64_t stack_pointer,
                    std::span<const uint64_t> top) {
  const std::vector<CodeRanges::Range>& code = code_.of(sample.pid);
  bool ends_at_frame = sample.frame_offset == 8 * top.size();
  words_.clear();
  for (size_t i = 0; i < top.size(); i++) {
    uint64_t place = top[i] - stack_pointer;
    if (contains(code, top[i]))
      words_.push_back({8 * i, top[i]});
    else if (!ends_at_frame && place <= kMaxTopSize && place > 8 * i)
      words_.push_back({8 * i, place});
  }
  sample.words = words_;

  if (batches_.empty() || batches_.back().size_in_memory() >= raw::kUsualPayloadSize)
    batches_.emplace_back();
  batches_.back().add(sample);
  sampled_.insert(sample.pid);
  has_kernel_samples_ |= !sample.kernel_stack.empty();
}

void Recorder::drain_sideband() {
  size_t known = pending_.size();
  sampler_->drain_events(pending_);
  std::span fresh = std::span(pending_).subspan(known);
  std::ranges::stable_sort(fresh, {}, [](const auto& record) { return time_of(record); });
  for (const SidebandRecord& record : fresh)
    code_.apply(record);
}

// The rings of the CPUs are read one after the other, so what lies in the first may have been
// overtaken by what lies in the last: a process is told before its parent's fork. Only up to
// the moment before the first was read is the account complete.
void Recorder::keep_events(uint64_t until) {
  std::ranges::stable_sort(pending_, {}, [](const auto& record) { return time_of(record); });
  size_t taken = 0;
  for (; taken < pending_.size() && time_of(pending_[taken]) <= until; taken++)
    std::visit([this](auto& record) { keep(std::move(record)); }, pending_[taken]);
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(taken));
}

void Recorder::keep(RawMapping mapping) {
  if (!is_followed(mapping.pid))
    return;
  if (options_.has_user && is_memory(mapping.path))
    perf_maps_.notice(mapping.pid, mapping.time);
  MapEvent event = images_.event_of(std::move(mapping));
  if (const GoProgram* program = images_.go_program(event.image))
    keep(*program, event);
  events_.emplace_back(std::move(event));
}

// Of several in one process the first is its program, and not a library.
void Recorder::keep(const GoProgram& program, const MapEvent& code) {
  if (!program.layout)
    unknown_go_versions_.insert(program.version);
  else if (options_.has_user && go_processes_.insert(code.pid).second)
    sampler_->set_go_program(code.pid, program, program.offset_at_in(code));
}

void Recorder::forget_go_program(uint32_t pid) {
  if (go_processes_.erase(pid) > 0)
    sampler_->forget_go_program(pid);
}

void Recorder::keep(CommEvent event) {
  if (!is_followed(event.pid))
    return;
  if (event.is_exec) {
    perf_maps_.renew(event.pid, event.time);
    forget_go_program(event.pid);
  }
  events_.emplace_back(std::move(event));
}

void Recorder::keep(ForkEvent event) {
  if (!is_followed(event.parent_pid))
    return;
  if (event.pid != event.parent_pid && !options_.scope.follows_children)
    return;
  followed_.insert(event.pid);
  events_.emplace_back(event);
}

void Recorder::keep(ExitEvent event) {
  if (!is_followed(event.pid))
    return;
  if (std::erase(live_tids_, event.tid) > 0 && live_tids_.empty())
    have_threads_ended_ = true;
  if (event.tid == event.pid) {
    ended_.push_back(event);
    go_processes_.erase(event.pid);
  }
  events_.emplace_back(event);
}

void Recorder::keep(CgroupEvent event) {
  events_.emplace_back(std::move(event));
}

void Recorder::keep(KernelCodeEvent event) {
  if (options_.has_kernel)
    events_.emplace_back(std::move(event));
}

Result<> Recorder::write() {
  last_write_ = monotonic_ns();
  if (auto followed = sampler_->follow_cpus(pending_); !followed)
    return followed;
  if (events_.empty() && batches_.empty())
    return Ok{};
  for (const RecordedImage& image : images_.take_new())
    if (auto written = writer_->write_image(image); !written)
      return written;
  if (!events_.empty())
    if (auto written = writer_->write_events(std::exchange(events_, {})); !written)
      return written;
  for (const raw::SampleBatch& batch : std::exchange(batches_, {}))
    if (auto written = writer_->write_samples(batch); !written)
      return written;
  // The largest chunk by far comes when what is precious is safe.
  if (has_kernel_samples_ && !kernel_symbols_.empty())
    if (auto written = write_kernel_symbols(); !written)
      return written;
  return writer_->write_stats(stats());
}

Result<> Recorder::write_kernel_symbols() {
  has_kernel_symbols_ = true;
  return writer_->write_kernel_symbols(std::exchange(kernel_symbols_, {}));
}

Result<> Recorder::write_perf_maps_of_ended() {
  for (const ExitEvent& event : std::exchange(ended_, {}))
    if (auto written = write_perf_map(event.pid, event.time); !written)
      return written;
  return Ok{};
}

Result<> Recorder::write_perf_map(uint32_t pid, uint64_t time) {
  if (!sampled_.contains(pid)) {
    perf_maps_.forget(pid);
    return Ok{};
  }
  auto map = perf_maps_.take(pid, time);
  if (!map)
    return Ok{};
  if (!map->problem.empty())
    perf_map_problems_.push_back(fmt::format("'{}': {}", map->path, map->problem));
  return writer_->write_perf_map(*map);
}

RecordingStats Recorder::stats() const {
  RecordingStats stats{.time = last_write_, .cpus = sampler_->counters().cpus};
  for (const CpuCounts& cpu : stats.cpus) {
    stats.samples += cpu.samples;
    stats.lost_samples += cpu.lost_samples;
    stats.lost_events += cpu.lost_events;
  }
  return stats;
}

Recorder::Summary Recorder::summary() const {
  RecordingStats counted = stats();
  return {
      .samples = counted.samples,
      .lost_samples = counted.lost_samples,
      .lost_events = counted.lost_events,
      .unfollowed = sampler_->counters().unfollowed,
      .unreadable = static_cast<uint64_t>(std::ranges::count_if(
          unreadable_, [this](uint32_t pid) { return sampled_.contains(pid); })),
      .lacks_kernel_symbols = has_kernel_samples_ && !has_kernel_symbols_,
      .perf_map_problems = perf_map_problems_,
      .unknown_go_versions = {unknown_go_versions_.begin(), unknown_go_versions_.end()},
      .process_count = sampled_.size(),
      .duration_ns = end_time_ - start_time_,
      .file_size = writer_->bytes_written(),
  };
}

}  // namespace gosym
