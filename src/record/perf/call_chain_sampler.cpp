#include "record/perf/call_chain_sampler.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

#include "base/exit_status.h"
#include "base/reader.h"
#include "base/text.h"
#include "proc/process.h"
#include "record/perf/perf_ring.h"
#include "record/rights.h"

// Events are opened for each thread, on each CPU, at the start; later threads inherit them.
// All events of a CPU write to one ring, which drain_events() reads: samples are kept with the
// CPU and the event until drain_samples() asks for them. Losses and ticks are counted for each
// event and CPU. The last part takes a sample's record apart.

namespace gosym {

namespace {

// A ring on each CPU, of memory that a user without CAP_IPC_LOCK may lock: 512 KiB for each CPU
// (kernel.perf_event_mlock_kb is 516, the control page included), and what he may lock anyway.
// The least holds 15 samples of 32 KiB of stack, the default. One CPU is online at least.
size_t ring_size(size_t cpu_count) {
  constexpr uint64_t kLeast = 512 << 10;
  constexpr uint64_t kMost = 4 << 20;
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  uint64_t share = std::min<uint64_t>(limit.rlim_cur, kMost * cpu_count) / cpu_count;
  // A power of two, as the kernel wants it.
  return std::min(std::bit_floor(kLeast + share), kMost);
}

// In the order in which the kernel writes them: by number.
#if defined(__x86_64__)
constexpr uint64_t kGeneral = (1ULL << (PERF_REG_X86_IP + 1)) - 1;
constexpr uint64_t kRegisters =
    kGeneral | ((1ULL << (PERF_REG_X86_R15 + 1)) - (1ULL << PERF_REG_X86_R8));
#else
constexpr uint64_t kRegisters = (1ULL << (PERF_REG_ARM64_PC + 1)) - 1;
#endif

bool has_frequency(const EventType& event, const SamplerOptions& options) {
  return to_recorded(event, options).period == 0;
}

// Enabled from the start: an event that is not tells nothing of mappings either.
perf_event_attr attributes(const EventType& event, bool tells_of_processes,
                           const SamplerOptions& options) {
  perf_event_attr attr = sampling_event(event, options);
  attr.disabled = 0;
  attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  // With a period Linux would take each event of its own software for a sample.
  if (has_frequency(event, options))
    attr.sample_type |= PERF_SAMPLE_PERIOD;
  attr.sample_regs_user = kRegisters;
  attr.sample_stack_user =
      options.stack_mode == StackMode::kFramePointers ? kLeafTopSize : options.stack_size;
  attr.exclude_callchain_user = !options.has_user;
  attr.exclude_callchain_kernel = !options.has_kernel;
  attr.inherit = options.scope.tids.empty();
  if (tells_of_processes)
    tell_of_processes(attr);
  attr.watermark = 1;  // half a ring
  return attr;
}

bool is_denied(int cause) {
  return cause == EACCES || cause == EPERM;
}

// Nanoseconds, of clocks; those of threads that inherited the events are in it.
uint64_t counted_by(std::span<const int> events) {
  uint64_t sum = 0;
  for (int event : events)
    if (uint64_t count = 0; read(event, &count, sizeof(count)) == sizeof(count))
      sum += count;
  return sum;
}

uint64_t max_frames() {
  constexpr uint64_t kDefault = 127;
  return parse_decimal(proc::setting("/proc/sys/kernel/perf_event_max_stack"))
      .value_or(kDefault);
}

}  // namespace

CallChainSampler::CallChainSampler(const SamplerOptions& options, std::string obstacle)
    : options_(options),
      obstacle_(std::move(obstacle)),
      events_(options.events.empty() ? std::vector{cycles()} : options.events),
      max_frames_(max_frames()) {
  for (uint32_t number : proc::online_cpus()) {
    Cpu& cpu = cpus_[number];
    cpu.number = number;
    for (uint32_t event = 0; event < events_.size(); event++)
      cpu.counters.push_back({.counts = {.cpu = number, .event = event}, .fds = {}});
  }
}

CallChainSampler::~CallChainSampler() = default;

Result<std::unique_ptr<Sampler>> CallChainSampler::open(const SamplerOptions& options,
                                                        std::string obstacle) {
  std::unique_ptr<CallChainSampler> sampler(new CallChainSampler(options, std::move(obstacle)));
  sampler->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!sampler->epoll_)
    return system_error("cannot create an epoll descriptor", errno);
  if (auto opened = sampler->open_targets(); !opened)
    return std::move(opened).error();
  return std::unique_ptr<Sampler>(std::move(sampler));
}

Result<> CallChainSampler::open_targets() {
  const Scope& scope = options_.scope;
  if (scope.pids.empty() && scope.tids.empty())
    return Error("perf_event's call chains are of processes, threads and commands only")
        .with_exit_status(kUnsupported);
  for (uint32_t pid : scope.pids)
    if (auto opened = open_process(pid); !opened)
      return opened;
  // The process is named in errors only: there its thread will do.
  for (uint32_t tid : scope.tids)
    if (auto opened = open_thread(tid, tid); !opened)
      return opened;
  return Ok{};
}

// Threads that begin meanwhile either inherit the events of the one that made them, or are
// there the next time.
Result<> CallChainSampler::open_process(uint32_t pid) {
  std::vector<uint32_t> known;
  bool has_new = true;
  // Looked at until a pass finds nothing new: a thread may be made while others are opened.
  while (has_new) {
    has_new = false;
    std::vector<uint32_t> tids = proc::thread_ids(pid);
    // Records of threads that have begun meanwhile tell who has inherited.
    read_rings();
    for (uint32_t tid : tids) {
      if (std::ranges::find(known, tid) != known.end() || has_inherited(tid))
        continue;
      if (auto opened = open_thread(pid, tid); !opened)
        return opened;
      known.push_back(tid);
      has_new = true;
    }
  }
  return Ok{};
}

bool CallChainSampler::has_inherited(uint32_t tid) const {
  // A thread whose beginning is in the ring was made by one that had the events already.
  return std::ranges::any_of(records_, [tid](const SidebandRecord& record) {
    auto* fork = std::get_if<ForkEvent>(&record);
    return fork && fork->tid == tid;
  });
}

Result<> CallChainSampler::open_thread(uint32_t pid, uint32_t tid) {
  for (auto& [number, cpu] : cpus_) {
    auto is_there = open_events(pid, tid, cpu);
    if (!is_there)
      return std::move(is_there).error();
    // The thread is gone: it has no events on the other CPUs either.
    if (!*is_there)
      return Ok{};
  }
  return Ok{};
}

// False if the thread has ended.
Result<bool> CallChainSampler::open_events(uint32_t pid, uint32_t tid, Cpu& cpu) {
  for (uint32_t i = 0; i < events_.size(); i++) {
    auto event = open_event(pid, tid, i, cpu.number);
    if (!event)
      return std::move(event).error();
    if (!*event)
      return false;
    if (auto joined = join_ring(*std::move(event), i, cpu); !joined)
      return std::move(joined).error();
  }
  return true;
}

// Fewer rights and simpler machines give less; false if there is nothing left to go without.
bool CallChainSampler::ask_for_less(int cause) {
  // Only where nobody asked for events: a chosen one is not replaced.
  if (is_missing_event(cause) && options_.events.empty() &&
      events_.front().name != cpu_clock().name) {
    events_.front() = cpu_clock();
    return true;
  }
  // Kernel code is given up only if user code is left to sample.
  if (is_denied(cause) && options_.has_kernel && options_.has_user) {
    options_.has_kernel = false;
    lacks_kernel_ = true;
    return true;
  }
  return false;
}

// The first event of a thread tells of its process as well.
Result<UniqueFd> CallChainSampler::open_event(uint32_t pid, uint32_t tid, uint32_t index,
                                              uint32_t cpu) {
  auto thread = static_cast<pid_t>(tid);
  // Each try changes the options, so the loop ends: ask_for_less() has two things to give up.
  auto open = [&] {
    return open_perf_event(attributes(events_[index], index == 0, options_), cpu, thread);
  };
  UniqueFd event = open();
  while (!event && ask_for_less(errno))
    event = open();
  // ESRCH: the thread has ended meanwhile, which is no error.
  if (event || errno == ESRCH)
    return event;
  if (is_denied(errno))
    return explain_refused_process(pid, !options_.has_user);
  return denied_or_failed(fmt::format("cannot open a {} event", events_[index].name), errno);
}

Result<> CallChainSampler::join_ring(UniqueFd event, uint32_t index, Cpu& cpu) {
  uint64_t id = 0;
  if (ioctl(event.get(), PERF_EVENT_IOC_ID, &id) != 0)
    return system_error("cannot ask for the number of a perf event", errno);
  // All events of a CPU share a ring, so a sample names its event by this number.
  event_of_id_[id] = index;
  cpu.counters[index].fds.push_back(event.get());
  if (cpu.ring) {
    if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, cpu.ring->fd()) != 0)
      return system_error("cannot share the ring of a perf event", errno);
    // The first event of a CPU owns the ring; the others only have to stay open.
    cpu.fds.push_back(std::move(event));
    return Ok{};
  }
  auto ring = PerfRing::map(std::move(event), ring_size(cpus_.size()));
  if (!ring)
    return std::move(ring).error();
  cpu.ring = *std::move(ring);
  // By edges: when the thread of this event has ended it would be readable for good.
  epoll_event interest{.events = EPOLLIN | EPOLLET, .data = {}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, cpu.ring->fd(), &interest) != 0)
    return system_error("cannot watch a perf event", errno);
  return Ok{};
}

// Drops samples and losses since the events were opened, which are no part of the recording.
// The kernel reports a loss when it has room again, in the first record from now on: that one
// does not count (has_begun).
Result<> CallChainSampler::start() {
  read_rings();
  samples_.clear();
  for (auto& [number, cpu] : cpus_) {
    cpu.has_begun = false;
    for (Counter& counter : cpu.counters) {
      // Counts begin at 0 here; the kernel's own go on, and are subtracted at the end.
      counter.counts = {.cpu = number, .event = counter.counts.event};
      counter.counted_at_start = counted_by(counter.fds);
    }
  }
  return Ok{};
}

void CallChainSampler::stop() {
  for (auto& [number, cpu] : cpus_) {
    for (Counter& counter : cpu.counters) {
      // The event has to stand still to be read for the last time.
      for (int event : counter.fds)
        ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
      counter.counted_ns = counted_by(counter.fds) - counter.counted_at_start;
    }
  }
}

void CallChainSampler::read_rings() {
  epoll_event seen;
  // Edges are taken before the rings are read: what comes in between makes the descriptor
  // readable again.
  while (epoll_wait(epoll_.get(), &seen, 1, 0) > 0) {
  }
  for (auto& [number, cpu] : cpus_)
    if (cpu.ring)
      read_ring(cpu);
}

void CallChainSampler::read_ring(Cpu& cpu) {
  cpu.ring->read();
  while (auto record = cpu.ring->next()) {
    take(*record, cpu);
    // A loss that the first record tells of is of the time before start().
    cpu.has_begun = true;
  }
  if (!cpu.ring->is_at_end())  // not a record: nothing behind it can be found either
    cpu.counts().lost_events++;
  cpu.ring->consume();
}

void CallChainSampler::take(Bytes data, Cpu& cpu) {
  if (is_call_chain(data)) {
    take_sample(data, cpu);
    return;
  }
  auto record = parse_sideband_record(data);
  if (!record)
    cpu.counts().lost_events++;
  else if (auto* lost = std::get_if<LostRecords>(&*record))
    // The kernel's count is of samples and other records together, and of all events; there are
    // far more samples. The first record since start() may tell of a loss before it, which is
    // no part of the recording: has_begun is set only behind that record.
    cpu.counts().lost_samples += cpu.has_begun ? lost->count : 0;
  else if (auto* throttle = std::get_if<ThrottleRecord>(&*record))
    note(*throttle, cpu);
  else if (!std::holds_alternative<OtherRecord>(*record))
    records_.push_back(*std::move(record));
}

void CallChainSampler::take_sample(Bytes data, Cpu& cpu) {
  // A number that is not known is damage, as only events of ours share the ring.
  auto event = event_of_id_.find(event_id_of(data).value_or(0));
  if (event == event_of_id_.end()) {
    cpu.counts().lost_samples++;
    return;
  }
  // Samples at a frequency tell their period, as attributes() asks for it.
  auto sample = parse_call_chain(data, has_frequency(events_[event->second], options_));
  if (!sample)
    cpu.counters[event->second].counts.lost_samples++;
  else if (is_wanted(sample->pid))
    samples_.push_back({*std::move(sample), cpu.number, event->second});
}

void CallChainSampler::note(const ThrottleRecord& throttle, Cpu& cpu) {
  cpu.counts().throttled_ns += cpu.throttling.ended_by(throttle);
}

// Children inherit events as threads do; before Linux 5.13 that cannot be helped.
bool CallChainSampler::is_wanted(uint32_t pid) const {
  const Scope& scope = options_.scope;
  return scope.follows_children || !scope.tids.empty() ||
         std::ranges::find(scope.pids, pid) != scope.pids.end();
}

void CallChainSampler::drain_events(std::vector<SidebandRecord>& records) {
  read_rings();
  std::ranges::move(std::exchange(records_, {}), std::back_inserter(records));
}

void CallChainSampler::drain_samples(const Handler& handler) {
  for (const Sample& sample : std::exchange(samples_, {})) {
    cpus_[sample.cpu].counters[sample.event].counts.samples++;
    const CallChain& chain = sample.chain;
    handler(recorded(sample), {.stack_pointer = chain.stack_pointer,
                               .words = chain.top,
                               .registers = chain.registers,
                               .misaligned = chain.misaligned,
                               .code_mask = code_mask_});
  }
}

// The kernel does not tell why its walk ended: `report` knows a root when it sees one.
RecordedSample CallChainSampler::recorded(const Sample& sample) const {
  const CallChain& chain = sample.chain;
  // The limit of the kernel is that of both stacks together.
  bool is_full = chain.kernel_stack.size() + chain.user_stack.size() >= max_frames_;
  // From the stack pointer, like all places of a stack; a register used for other things is
  // none.
  uint64_t offset = chain.frame_pointer - chain.stack_pointer;
  bool has_frame = !chain.user_stack.empty() && offset <= kMaxFrameDistance && offset % 8 == 0;
  bool has_weight = is_weighted(to_recorded(events_[sample.event], options_));
  return {
      .time = chain.time,
      .pid = chain.pid,
      .tid = chain.tid,
      .cpu = sample.cpu,
      .user_end = is_full ? StackEnd::kLimit : StackEnd::kRoot,
      .kernel_stack = chain.kernel_stack,
      .user_stack = chain.user_stack,
      .frame_offset = has_frame ? offset : kNoFrame,
      .event = sample.event,
      .weight = has_weight ? chain.period : 0,
  };
}

// Counts samples and other records: the kernel does not tell them apart.
uint64_t CallChainSampler::lost_events() const {
  uint64_t lost = 0;
  for (const auto& [number, cpu] : cpus_)
    for (const Counter& counter : cpu.counters)
      lost += counter.counts.lost_events + counter.counts.lost_samples;
  return lost;
}

CallChainSampler::Counters CallChainSampler::counters() const {
  Counters counters;
  auto is_clock = [this](const EventType& event) { return tick_of(event, options_) != 0; };
  // The first clock stands for the CPU time that was charged; a second one has counted the same
  // time. Without a clock this is the number of no event.
  auto clock = std::ranges::find_if(events_, is_clock) - events_.begin();
  for (const auto& [number, cpu] : cpus_)
    for (const Counter& counter : cpu.counters) {
      CpuCounts counts = counter.counts;
      counts.skipped = skipped_of(counter);
      // A lost sample of a clock stands for a tick.
      counts.lost_ns = counts.lost_samples * tick_of(events_[counts.event], options_);
      counters.cpus.push_back(counts);
      if (counts.event == clock)
        counters.charged_ns += counter.counted_ns;
    }
  return counters;
}

// The clocks count on where they are not to be sampled, in the kernel or in user code.
uint64_t CallChainSampler::skipped_of(const Counter& counter) const {
  uint64_t tick = tick_of(events_[counter.counts.event], options_);
  uint64_t came = counter.counts.samples + counter.counts.lost_samples;
  // The counter has counted all ticks that were due, those too that lay in code which is not
  // sampled.
  uint64_t due = tick == 0 ? 0 : counter.counted_ns / tick;
  return due - std::min(came, due);
}

namespace {

// On arm64 Linux wants frame pointers to be multiples of 16 before 6.0, which those of Go are
// not.
bool lacks_go_callers() {
#if defined(__aarch64__)
  utsname system{};
  return uname(&system) == 0 && parse_decimal(std::string_view(system.release, 1)) < 6u &&
         system.release[1] == '.';
#else
  return false;
#endif
}

}  // namespace

std::string CallChainSampler::shortcomings() const {
  std::string reason = obstacle_.empty() ? "" : fmt::format("no BPF ({}): ", obstacle_);
  return fmt::format(
      "{}sampling by perf_event's call chains, without {}{}goroutines, labels "
      "and what lies beyond {} frames",
      reason, lacks_kernel_ ? "kernel code, " : "",
      lacks_go_callers() ? "callers of Go code, " : "", max_frames_);
}

namespace {

constexpr uint64_t kFirstMarker = static_cast<uint64_t>(PERF_CONTEXT_MAX);

void read_chain(Reader& in, CallChain& sample) {
  uint64_t part = 0;
  for (uint64_t left = in.u64(); left > 0 && in.ok(); left--) {
    uint64_t address = in.u64();
    // Markers tell what the addresses that follow are of. Those of guests are passed over.
    if (address >= kFirstMarker)
      part = address;
    else if (part == static_cast<uint64_t>(PERF_CONTEXT_KERNEL))
      sample.kernel_stack.push_back(address);
    else if (part == static_cast<uint64_t>(PERF_CONTEXT_USER) && address != 0)
      sample.user_stack.push_back(address);
  }
}

// The words from the place on that the first byte lies `misaligned` above.
std::vector<uint64_t> words_of(Bytes data, uint64_t misaligned) {
  std::vector<uint64_t> words((misaligned + data.size()) / sizeof(uint64_t));
  if (!words.empty())  // memcpy takes no null pointer, not even for nothing
    std::memcpy(reinterpret_cast<std::byte*>(words.data()) + misaligned, data.data(),
                words.size() * sizeof(uint64_t) - misaligned);
  return words;
}

void read_registers(Reader& in, CallChain& sample) {
#if defined(__x86_64__)
  // DWARF's numbers for the registers in the order in which the kernel writes them. The pc
  // comes as the last one, 16, and is dropped: the chain has it.
  constexpr std::array kNumbers = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
  sample.registers.resize(kNumbers.size());
  for (int number : kNumbers)
    sample.registers[static_cast<size_t>(number)] = in.u64();
  sample.registers.resize(kNumbers.size() - 1);
  sample.frame_pointer = sample.registers[6];
  sample.stack_pointer = sample.registers[7];
#else
  constexpr size_t kGeneral = 31;  // whose numbers are those that DWARF has
  for (size_t i = 0; i < kGeneral; i++)
    sample.registers.push_back(in.u64());
  sample.frame_pointer = sample.registers[29];
  sample.stack_pointer = in.u64();
  in.u64();  // the pc, which the chain has
#endif
}

// Bytes from the place that offsets count from to the stack pointer: on arm64 frames of Go
// begin below that, of which the kernel takes nothing.
#if defined(__x86_64__)
constexpr uint64_t kBelowStack = 0;
#else
constexpr uint64_t kBelowStack = 16;
#endif

void read_stack(Reader& in, CallChain& sample) {
  uint64_t abi = in.u64();
  if (abi != PERF_SAMPLE_REGS_ABI_NONE)
    read_registers(in, sample);
  // Words begin at multiples of 8 below the stack pointer.
  sample.misaligned = kBelowStack + sample.stack_pointer % 8;
  sample.stack_pointer -= sample.misaligned;
  uint64_t size = in.u64();
  if (size == 0)
    return;
  Bytes stack = in.bytes(size);
  // The kernel reserves all the room and tells behind it how much it could copy.
  uint64_t taken = std::min(in.u64(), size);
  // No stack of a 32-bit process is kept: its words are of another size.
  if (in.ok() && abi == PERF_SAMPLE_REGS_ABI_64)
    sample.top = words_of(stack.first(taken), sample.misaligned);
}

}  // namespace

bool is_call_chain(Bytes record) {
  return load<uint32_t>(record, 0) == PERF_RECORD_SAMPLE;
}

std::optional<uint64_t> event_id_of(Bytes record) {
  return load<uint64_t>(record, sizeof(perf_event_header));
}

Result<CallChain> parse_call_chain(Bytes data, bool has_period) {
  Reader in(data);
  uint32_t type = in.u32();
  in.u16();  // misc
  uint16_t size = in.u16();
  if (!in.ok() || type != PERF_RECORD_SAMPLE || size != data.size())
    return errorf("sample: {:#x} bytes of type {}, its header says {:#x}", data.size(), type,
                  size);
  CallChain sample;
  in.u64();  // the event's id
  sample.pid = in.u32();
  sample.tid = in.u32();
  sample.time = in.u64();
  sample.period = has_period ? in.u64() : 0;
  read_chain(in, sample);
  read_stack(in, sample);
  if (!in.ok())
    return in.error("sample");
  return sample;
}

}  // namespace gosym
