#include "record/perf/perf_ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <ctime>

#include "base/exit_status.h"
#include "proc/process.h"
#include "record/rights.h"
#include "record/sideband_record.h"

namespace gosym {

namespace {

// Room for the largest record twice.
constexpr uint64_t kMaxRecord = 64 << 10;
constexpr size_t kMinSize = 2 * kMaxRecord;

size_t page_size() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void* map_pages(const UniqueFd& event, size_t size) {
  return mmap(nullptr, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
}

}  // namespace

Bytes unwrap(Bytes ring, uint64_t from, uint64_t to, std::vector<std::byte>& copy) {
  assert(std::has_single_bit(ring.size()) && to - from <= ring.size());
  uint64_t start = from & (ring.size() - 1);
  uint64_t size = to - from;
  if (auto piece = slice(ring, start, size))
    return *piece;
  copy.assign(ring.begin() + static_cast<ptrdiff_t>(start), ring.end());
  copy.insert(copy.end(), ring.begin(),
              ring.begin() + static_cast<ptrdiff_t>(size - copy.size()));
  return copy;
}

Result<std::unique_ptr<PerfRing>> PerfRing::map(UniqueFd event, size_t size) {
  void* pages = map_pages(event, size);
  // EPERM means that the memory may not be locked; halves are tried down to the least.
  while (pages == MAP_FAILED && errno == EPERM && size > kMinSize)
    pages = map_pages(event, size /= 2);
  if (pages == MAP_FAILED)
    return denied_or_failed("cannot map the ring of a perf event", errno);
  return std::unique_ptr<PerfRing>(
      new PerfRing(std::move(event), static_cast<std::byte*>(pages), size));
}

PerfRing::~PerfRing() {
  munmap(pages_, page_size() + size_);
}

Bytes PerfRing::ring() const {
  return {pages_ + page_size(), size_};
}

void PerfRing::read() {
  // The kernel stores data_head after the data; it waits for data_tail before it overwrites.
  head_ = std::atomic_ref<__u64>(control().data_head).load(std::memory_order_acquire);
  // A distance beyond the size of the ring is cut to it, so that no look leaves the ring.
  next_ = head_ - std::min<uint64_t>(head_ - control().data_tail, size_);
}

// In place as a rule: a full ring is half a megabyte, and is full 20 times a second beside who
// fills it.
std::optional<Bytes> PerfRing::next() {
  uint64_t start = next_ & (size_ - 1);
  uint64_t unread = head_ - next_;
  auto record = first_record(ring().subspan(start, std::min(unread, size_ - start)));
  if (!record)
    // Only a record over the end of the ring is copied, with no more than it can have.
    record = first_record(unwrap(ring(), next_, next_ + std::min(unread, kMaxRecord), copy_));
  if (record)
    next_ += record->size();
  return record;
}

void PerfRing::consume() {
  std::atomic_ref<__u64>(control().data_tail).store(head_, std::memory_order_release);
}

bool is_missing_event(int cause) {
  return cause == ENOENT || cause == EOPNOTSUPP || cause == ENODEV;
}

Result<std::vector<EventType>> choose_events(const SamplerOptions& options) {
  std::vector<EventType> events = options.events;
  if (events.empty())
    events.emplace_back();
  for (EventType& event : events) {
    // Other sources are no perf events, and are opened by who samples them.
    if (event.source != EventSource::kPerf)
      continue;
    bool is_default = event.name.empty();
    if (is_default)
      event = cycles();
    // An event is tried by opening it: no list tells what a virtual machine passes on.
    // One CPU stands for all.
    if (open_perf_event(sampling_event(event, options), proc::online_cpus().front()))
      continue;
    if (!is_missing_event(errno))
      return denied_or_failed(fmt::format("cannot open a {} event", event.name), errno);
    if (!is_default)
      return errorf("this machine cannot count {}", event.name)
          .with_hint("virtual machines often lack hardware counters: use -e cpu-clock");
    event = cpu_clock();
  }
  return events;
}

perf_event_attr timed_event(const EventType& event) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = event.type;
  attr.config = event.config;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

void tell_of_processes(perf_event_attr& attr) {
  attr.mmap = 1;
  // The second flag adds the file's device and inode to the records of the first.
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
}

namespace {

// The counters of arm64 count on while a CPU is idle, and Linux refuses events of theirs that
// shall not. What is sampled then is left out later.
#if defined(__aarch64__)
constexpr bool kCanStopOnIdle = false;
#else
constexpr bool kCanStopOnIdle = true;
#endif

}  // namespace

perf_event_attr sampling_event(const EventType& event, const SamplerOptions& options) {
  perf_event_attr attr = timed_event(event);
  RecordedEvent rate = to_recorded(event, options);
  attr.freq = rate.period == 0;
  // One field with sample_period: `freq` says which of the two it is.
  attr.sample_freq = rate.period == 0 ? rate.frequency : rate.period;
  attr.disabled = 1;
  attr.exclude_idle =
      event.goes_on_idle && (kCanStopOnIdle || event.type == PERF_TYPE_SOFTWARE);
  attr.exclude_user = !options.has_user;
  attr.exclude_kernel = !options.has_kernel;
  return attr;
}

// A tick counts nanoseconds, the unit in which the kernel counts its clocks.
uint64_t tick_of(const EventType& event, const SamplerOptions& options) {
  bool is_clock =
      event.type == PERF_TYPE_SOFTWARE &&
      (event.config == PERF_COUNT_SW_CPU_CLOCK || event.config == PERF_COUNT_SW_TASK_CLOCK);
  if (!is_clock)
    return 0;
  RecordedEvent rate = to_recorded(event, options);
  return rate.period != 0 ? rate.period : 1'000'000'000 / rate.frequency;
}

RecordedEvent to_recorded(const EventType& event, const SamplerOptions& options) {
  if (event.source == EventSource::kOffCpu)
    return {event.name, 0, event.period, std::string(kNanoseconds)};
  if (event.source == EventSource::kGoroutines)
    return {event.name, event.frequency, 0, std::string(kNanoseconds)};
  // An event's own rate comes before that of the options.
  if (event.frequency != 0 || event.period != 0)
    return {event.name, event.frequency, event.period};
  return {event.name, options.period == 0 ? options.frequency : 0, options.period};
}

UniqueFd open_perf_event(perf_event_attr attr, uint32_t cpu, pid_t thread,
                         unsigned long flags) {
  return UniqueFd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, thread, static_cast<int>(cpu), -1,
                               flags | PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace gosym
