#include "record/bpf/bpf_sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sample.h>
#include <sampler.skel.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <random>
#include <utility>

#include "base/clock.h"
#include "go/goroutine_layout.h"
#include "proc/cgroups.h"
#include "proc/process.h"
#include "record/bpf/bpf_settings.h"
#include "record/bpf/charged_time.h"
#include "record/bpf/clock_timers.h"
#include "record/bpf/stack_pieces.h"
#include "record/perf/perf_ring.h"
#include "record/rights.h"

namespace gosym {

static_assert(GOSYM_END_ROOT == static_cast<int>(StackEnd::kRoot));
static_assert(GOSYM_END_UNREADABLE == static_cast<int>(StackEnd::kUnreadable));
static_assert(GOSYM_END_BAD_FRAME == static_cast<int>(StackEnd::kBadFrame));
static_assert(GOSYM_END_LIMIT == static_cast<int>(StackEnd::kLimit));
static_assert(GOSYM_MAX_TOP_SIZE == kMaxTopSize);
static_assert(GOSYM_MAX_WORD_OFFSET == kMaxWordOffset);
static_assert(8 * GOSYM_RED_ZONE <= kRedZoneSize);
static_assert(GOSYM_MAX_EVENTS == kMaxEventTypes);

namespace {

// A power of two, as the kernel wants it: for a second without a reader, who has no priority
// over what is sampled. At 10 kHz of stacks of 32 KiB the largest holds 50 ms; a quarter of it
// lost 44 of 200,000 samples while 20 processes wanted two CPUs.
uint32_t ring_size_for(const SamplerOptions& options, size_t cpu_count) {
  constexpr uint64_t kMaxFramesSize = 2048;  // of all but the deepest stacks
  // Waits of a CPU in a second that all have samples, with a threshold of a millisecond or
  // less.
  constexpr uint64_t kSwitchesLookedAfter = 1000;
  // Limit of all rings together, save that each has the least size; and of the memory that a
  // cgroup may take, an eighth.
  constexpr uint64_t kMaxMemory = 256 << 20;
  uint64_t memory = std::min(kMaxMemory, proc::memory_limit() / 8);
  uint64_t stack_size =
      options.stack_mode == StackMode::kFramePointers ? kLeafTopSize : options.stack_size;
  uint64_t share = std::bit_floor(memory / std::max<size_t>(cpu_count, 1));
  uint64_t limit = std::clamp<uint64_t>(share, GOSYM_MIN_RING_SIZE, GOSYM_MAX_RING_SIZE);
  uint64_t rate = options.frequency * std::max<size_t>(options.events.size(), 1);
  for (const EventType& event : options.events)
    if (event.source == EventSource::kOffCpu)
      rate += kSwitchesLookedAfter * 1'000'000 / std::max<uint64_t>(event.period, 1'000'000);
  uint64_t wanted = std::bit_ceil(rate * (kMaxFramesSize + stack_size));
  return static_cast<uint32_t>(std::clamp<uint64_t>(wanted, GOSYM_MIN_RING_SIZE, limit));
}

// The frames of the user as the stack has them: the outer ones were kept in a ring.
std::vector<uint64_t> unrolled(std::span<const uint64_t> frames, uint32_t missing) {
  std::vector<uint64_t> stack(frames.begin(), frames.end());
  if (missing > 0 && stack.size() == GOSYM_MAX_USER_FRAMES) {
    // The ring of outer frames went on over its beginning `missing` times, so its oldest frame
    // lies behind the one that was written last.
    auto outer = stack.begin() + GOSYM_INNER_FRAMES;
    std::rotate(outer, outer + missing % GOSYM_OUTER_FRAMES, stack.end());
  }
  return stack;
}

// By offset.
std::vector<StackWord> far_words_in(Bytes record) {
  std::vector<StackWord> words;
  for (; record.size() >= sizeof(gosym_far_word);
       record = record.subspan(sizeof(gosym_far_word))) {
    gosym_far_word word;
    std::memcpy(&word, record.data(), sizeof(word));
    if (word.offset < kMaxWordOffset && word.offset % 8 == 0)
      words.push_back({word.offset, word.value});
  }
  // Two walks may have come by the same word. The first is right: return addresses that were
  // restored are put in before words are taken as they are (take_beyond_top() in
  // bpf/stack_top.h).
  std::ranges::stable_sort(words, {}, &StackWord::offset);
  auto is_same = [](const StackWord& a, const StackWord& b) { return a.offset == b.offset; };
  words.erase(std::unique(words.begin(), words.end(), is_same), words.end());
  return words;
}

// By the numbers that DWARF gives them: those of arm64 are the kernel's. On x86-64 the stack
// pointer, number 7, is 0: the words tell it.
std::vector<uint64_t> general_registers(const gosym_sample& sample) {
#if defined(__x86_64__)
  constexpr std::array kNumbers = {15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5};
  static_assert(GOSYM_REGISTERS == kNumbers.size());
  std::vector<uint64_t> registers(16);
  for (size_t i = 0; i < kNumbers.size(); i++)
    registers[static_cast<size_t>(kNumbers[i])] = sample.registers[i];
  return registers;
#else
  return {std::begin(sample.registers), std::end(sample.registers)};
#endif
}

std::string text_of(const char* text, uint32_t size, size_t max_size) {
  return {text, std::min<size_t>(size, max_size)};
}

// They lie behind both stacks, and all are there: hand_over() has compared the counts with the
// size of the record.
std::vector<Label> labels_of(const gosym_sample& sample) {
  const auto* first = reinterpret_cast<const gosym_label*>(sample.stack + sample.user_depth +
                                                           sample.kernel_depth);
  std::vector<Label> labels;
  for (const gosym_label& label : std::span(first, sample.label_count))
    labels.push_back({text_of(label.key, label.key_size, sizeof(label.key)),
                      text_of(label.value, label.value_size, sizeof(label.value))});
  std::ranges::sort(labels);
  return labels;
}

// Names of the states in proc(5), and names of our own for states that it does not have.
std::string_view text_of_state(uint32_t state) {
  constexpr std::array<std::string_view, GOSYM_STATE_COUNT> kTexts = {
      "",     "sleeping", "disk sleep",        "stopped",  "tracing stop",
      "idle", "parked",   "waiting for a CPU", "throttled"};
  return state < kTexts.size() ? kTexts[state] : std::string_view();
}

std::string waker_of(const gosym_sample& sample) {
  if (sample.state == GOSYM_STATE_NONE || sample.waker == 0)
    return {};
  if (sample.waker == GOSYM_INTERRUPT)
    return "[interrupt]";
  const char* comm = sample.waker_comm;
  return fmt::format("{} ({})", std::string_view(comm, strnlen(comm, GOSYM_COMM_SIZE)),
                     sample.waker);
}

std::array<bpf_program*, GOSYM_MAX_EVENTS> programs_of_events(const sampler_bpf& bpf) {
  return {bpf.progs.take_sample_0, bpf.progs.take_sample_1, bpf.progs.take_sample_2,
          bpf.progs.take_sample_3};
}

// Keys and values for maps that are sets.
Result<> insert(const bpf_map* map, uint32_t key) {
  uint8_t present = 1;
  if (bpf_map_update_elem(bpf_map__fd(map), &key, &present, BPF_ANY) != 0)
    return system_error(fmt::format("cannot sample {}", key), errno);
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<Sampler>> BpfSampler::open(const SamplerOptions& options,
                                                  Keeper& keeper) {
  if (auto usable = check_kernel(); !usable)
    return std::move(usable).error();
  std::unique_ptr<BpfSampler> sampler(new BpfSampler(options, keeper));
  if (auto loaded = sampler->load(); !loaded)
    return std::move(loaded).error();
  auto events = choose_events(options);
  if (!events)
    return std::move(events).error();
  sampler->events_ = *std::move(events);
  sampler->set_ticks();
  // Events of processes before samples of them: what is mapped from here on is known when the
  // first sample comes. The events of the CPUs are opened disabled, and begin with start().
  if (auto opened = sampler->open_waits(); !opened)
    return std::move(opened).error();
  if (auto opened = sampler->open_sideband(); !opened)
    return std::move(opened).error();
  sampler->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  for (uint32_t cpu : sampler->wanted_cpus())
    if (auto opened = sampler->open_events(cpu); !opened)
      return std::move(opened).error();
  return std::unique_ptr<Sampler>(std::move(sampler));
}

BpfSampler::~BpfSampler() {
  keeper_.forget_all();
}

Result<> BpfSampler::load() {
  VerifierLog log;
  bpf_ = {sampler_bpf__open_opts(&log.options), sampler_bpf__destroy};
  if (!bpf_)
    return system_error("cannot open the BPF program", errno);
  configure();
  // A ring for each CPU. Kernels before 5.10 take only rings as large as the one that the map
  // was made with.
  UniqueFd ring = create_ring(ring_size_);
  if (!ring)
    return denied_bpf_memory("cannot create a ring buffer", errno);
  bpf_map__set_inner_map_fd(bpf_->maps.rings, ring.get());
  auto cpu_count = static_cast<uint32_t>(libbpf_num_possible_cpus());
  for (bpf_map* map : {bpf_->maps.rings, bpf_->maps.scratch})
    bpf_map__set_max_entries(map, cpu_count);
  bpf_map__set_max_entries(bpf_->maps.counters,
                           cpu_count * static_cast<uint32_t>(event_count()));
  if (int status = sampler_bpf__load(bpf_.get()); status != 0)
    return log.explain("cannot load the BPF program", -status);
  // The perf event programs are not among those that this attaches.
  if (int status = sampler_bpf__attach(bpf_.get()); status != 0)
    return denied_or_failed("cannot attach to the scheduler's trace points", -status);
  if (auto shared = share_maps(); !shared)
    return shared;
  return add_targets();
}

// Counters, which are read often, are mapped; the keeper has the other maps.
Result<> BpfSampler::share_maps() {
  const bpf_map* counters = bpf_->maps.counters;
  counters_ = MappedPart(bpf_map__fd(counters),
                         sizeof(gosym_counters) * size_t{bpf_map__max_entries(counters)},
                         PROT_READ | PROT_WRITE);
  if (!counters_)
    return system_error("cannot map the counters", errno);
  for (const bpf_map* map : {bpf_->maps.target_pids, bpf_->maps.target_tids, bpf_->maps.ending})
    keeper_.keep_map(map, Keeper::MapUse::kRead);
  keeper_.keep_map(bpf_->maps.go_programs, Keeper::MapUse::kChange);
  keeper_.keep_rings(bpf_->maps.rings, ring_size_);
  return Ok{};
}

void BpfSampler::configure() {
  const Scope& scope = options_.scope;
  ring_size_ = ring_size_for(options_, wanted_cpus().size());
  gosym::configure(*bpf_->rodata, options_, ring_size_);
  // Programs that are not needed are not loaded: each costs time at every fork or exit of the
  // system.
  bool follows = scope.follows_children && !scope.pids.empty();
  bpf_program__set_autoload(bpf_->progs.follow_child, follows);
  bool has_threads = !scope.pids.empty() || !scope.tids.empty();
  bpf_program__set_autoload(bpf_->progs.forget_task, has_threads);
  std::array programs = programs_of_events(*bpf_);
  for (size_t i = event_count(); i < programs.size(); i++)
    bpf_program__set_autoload(programs[i], false);
}

Result<> BpfSampler::open_waits() {
  auto event = std::ranges::find(options_.events, EventSource::kOffCpu, &EventType::source);
  if (event == options_.events.end())
    return Ok{};
  auto index = static_cast<uint32_t>(event - options_.events.begin());
  auto waits = WaitSampler::open(*bpf_, keeper_, options_, index, ring_size_);
  if (!waits)
    return std::move(waits).error();
  waits_ = *std::move(waits);
  return Ok{};
}

// Puts those whom the options name where the BPF program looks for them: cgroups have their
// index among the options as the key.
Result<> BpfSampler::add_targets() {
  for (uint32_t pid : options_.scope.pids)
    if (auto added = insert(bpf_->maps.target_pids, pid); !added)
      return added;
  for (uint32_t tid : options_.scope.tids)
    if (auto added = insert(bpf_->maps.target_tids, tid); !added)
      return added;
  for (uint32_t i = 0; i < options_.scope.cgroups.size(); i++)
    if (auto added = add_cgroup(i, options_.scope.cgroups[i]); !added)
      return added;
  return Ok{};
}

Result<> BpfSampler::add_cgroup(uint32_t index, const std::string& path) {
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int fd = directory.get();
  if (!directory ||
      bpf_map_update_elem(bpf_map__fd(bpf_->maps.target_cgroups), &index, &fd, BPF_ANY) != 0)
    return system_error(fmt::format("cannot sample cgroup '{}'", path), errno);
  return Ok{};
}

std::vector<uint32_t> BpfSampler::wanted_cpus() const {
  std::vector<uint32_t> cpus = proc::online_cpus();
  const std::vector<uint32_t>& wanted = options_.scope.cpus;
  std::erase_if(cpus, [&](uint32_t cpu) {
    return !wanted.empty() && std::ranges::find(wanted, cpu) == wanted.end();
  });
  return cpus;
}

// Opens the events of the targets' processes. Mappings that a process made before it came into
// a cgroup are read when it has samples.
Result<> BpfSampler::open_sideband() {
  const Scope& scope = options_.scope;
  std::vector<uint32_t> pids = scope.pids;
  for (uint32_t tid : scope.tids)
    if (auto status = proc::status_of(tid))
      pids.push_back(status->pid);
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  // Events of processes and those of cgroups cannot be mixed: a mixture has the events of
  // everything.
  bool has_cgroups_only = !scope.cgroups.empty() && pids.empty();
  bool is_for_all = scope.is_system_wide || (!scope.cgroups.empty() && !pids.empty());
  auto sideband = is_for_all         ? Sideband::open_for_all(keeper_)
                  : has_cgroups_only ? Sideband::open_for_cgroups(keeper_, scope.cgroups)
                                     : Sideband::open_for(keeper_, pids);
  if (!sideband)
    return std::move(sideband).error();
  sideband_ = *std::move(sideband);
  return Ok{};
}

void BpfSampler::set_ticks() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  auto is_clock = [this](const EventType& event) { return tick_of(event, options_) != 0; };
  auto clock_count = static_cast<size_t>(std::ranges::count_if(events_, is_clock));
  slow_timers_ = slow_timer_count(limit.rlim_cur, wanted_cpus().size(), clock_count);
  // Periods differ from recording to recording, so that no program is in step with them always.
  shift_ = std::random_device()() / (std::random_device::max() + 1.0);
  for (size_t i = 0; i < events_.size(); i++) {
    constexpr uint64_t kAlways = uint64_t{1} << 62;
    uint64_t tick = tick_of(events_[i], options_);
    bpf_->bss->tick_ns[i] = tick;
    // Counted from the first timer's first tick, so that its last one is due at the handover.
    // kAlways lets it tick for good: without slow ones nothing takes over.
    bpf_->bss->first_timer_ns[i] = slow_timers_ == 0 ? kAlways : (kFirstTimerTicks - 1) * tick;
    // Samples of a clock have a weight where ticks before them did not come.
    have_weights_.push_back(tick != 0 || is_weighted(to_recorded(events_[i], options_)));
  }
}

std::string BpfSampler::shortcomings() const {
  // Also without a clock among the events: then there are no timers that could be too few.
  if (slow_timers_ == kMaxSlowTimers)
    return {};
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return fmt::format(
      "{} timers a CPU, not {}, as {} open files are allowed: the time of programs that sleep "
      "shortly can be {} off; ulimit -n 65536 helps",
      std::max<uint32_t>(slow_timers_, 1), kMaxSlowTimers, limit.rlim_cur,
      slow_timers_ == 0   ? "far"
      : slow_timers_ == 4 ? "15 %"
                          : "3 %");
}

Result<> BpfSampler::open_events(uint32_t cpu) {
  std::vector<UniqueFd> opened;
  for (uint32_t i = 0; i < events_.size(); i++) {
    if (events_[i].source != EventSource::kPerf)
      continue;
    auto event = open_event(i, cpu);
    if (!event)
      return std::move(event).error();
    if (event->empty())  // the CPU has just gone offline
      return Ok{};
    std::ranges::move(*event, std::back_inserter(opened));
  }
  opened_[cpu] = std::move(opened);
  // A CPU that comes back has its ring still.
  return rings_.contains(cpu) ? Ok{} : open_ring(cpu);
}

// Each CPU has periods of its own; but one that comes later those of the first, as no others
// may be opened any more.
double BpfSampler::shift_of(uint32_t index) const {
  constexpr double kOfEvent = 0.7320508075688772;  // irrational, as the golden ratio
  constexpr double kOfCpu = 0.41421356237309503;
  size_t cpus_before = keeper_.is_started() ? 0 : opened_.size();
  return shift_ + index * kOfEvent + static_cast<double>(cpus_before) * kOfCpu;
}

// One perf event, or the timers of a clock; none if the CPU is not online.
Result<std::vector<UniqueFd>> BpfSampler::open_event(uint32_t index, uint32_t cpu) {
  perf_event_attr attr = sampling_event(events_[index], options_);
  uint64_t tick = tick_of(events_[index], options_);
  if (tick != 0) {
    // The BPF program has to see all ticks to count those that were missed.
    attr.exclude_idle = attr.exclude_user = attr.exclude_kernel = 0;
    forget_ticks(index, cpu);
  }
  // The first event of a clock has the full rate. The others are the slow timers, which are
  // told apart by the low bits of their periods.
  std::vector<perf_event_attr> attrs = {attr};
  for (uint64_t period :
       slow_timer_periods(tick, tick == 0 ? 0 : slow_timers_, shift_of(index))) {
    attr.freq = 0;
    attr.sample_period = period;
    attrs.push_back(attr);
  }
  std::vector<UniqueFd> opened;
  for (const perf_event_attr& one : attrs) {
    auto event = open_timer(one, index, cpu);
    if (!event)
      return std::move(event).error();
    // The CPU went offline between two of them: those that were opened are closed again.
    if (!*event)
      return std::vector<UniqueFd>();
    opened.push_back(*std::move(event));
  }
  if (opened.size() == 1)
    return opened;
  // The first timer ticks for the slow ones until these, all started at once, come evenly.
  first_timers_.push_back({std::move(opened.front()), index, cpu});
  opened.erase(opened.begin());
  return opened;
}

// None if the CPU is not online.
Result<UniqueFd> BpfSampler::open_timer(perf_event_attr attr, uint32_t index, uint32_t cpu) {
  // The keeper opens only what it was told of before it was started. The first CPU, for which
  // `opened_` is empty still, tells it all; a CPU that comes later has equal attributes
  // (shift_of()).
  if (opened_.empty())
    keeper_.keep_event(attr);
  UniqueFd event = keeper_.open_event(attr, cpu);
  if (!event && errno == ENODEV)
    return event;
  if (!event)
    return denied_or_failed(fmt::format("cannot open a {} event", events_[index].name), errno);
  // Without a link: it would start the event at once, and need Linux 5.15.
  int program = bpf_program__fd(programs_of_events(*bpf_)[index]);
  if (ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program) != 0)
    return denied_or_failed("cannot attach the BPF program", errno);
  if (auto adopted = sideband_->adopt(event, cpu); !adopted)
    return std::move(adopted).error();
  return event;
}

// Ticks of the time before the CPU went offline say nothing about missed ones.
void BpfSampler::forget_ticks(uint32_t event, uint32_t cpu) const {
  gosym_counters& counts = counters_at(event, cpu);
  counts.handover = 0;
  std::ranges::fill(counts.last_ticks, 0);
}

void BpfSampler::close_first_timers() {
  uint64_t now = first_timers_.empty() ? 0 : monotonic_ns();
  std::erase_if(first_timers_, [&](const FirstTimer& timer) {
    // The BPF program sets the time of the handover at the first tick; 0: none has come yet.
    gosym_counters counts = counters_at(timer.event, timer.cpu);
    // Its last tick comes at that time, or a little later.
    uint64_t tick = bpf_->bss->tick_ns[timer.event];
    return counts.handover != 0 && now > counts.handover + tick;
  });
}

gosym_counters& BpfSampler::counters_at(uint32_t event, uint32_t cpu) const {
  size_t index = event * size_t{bpf_->rodata->cpu_count} + cpu;
  return reinterpret_cast<gosym_counters*>(counters_.get())[index];
}

// The BPF program writes to the ring from make_ring() on. It stays until the end, also when its
// CPU goes.
Result<> BpfSampler::open_ring(uint32_t cpu) {
  UniqueFd map = keeper_.make_ring(cpu);
  if (!map)
    return denied_bpf_memory("cannot create a ring buffer", errno);
  auto ring = BpfRing::map(std::move(map), ring_size_);
  if (!ring)
    return system_error("cannot map a ring buffer", errno);
  epoll_event interest{.events = EPOLLIN, .data = {}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ring->fd(), &interest) != 0)
    return system_error("cannot watch a ring", errno);
  rings_.emplace(cpu, *std::move(ring));
  return Ok{};
}

gosym_go_program to_bpf(const GoProgram& program, const MapEvent& code) {
  const go::RuntimeLayout& layout = *program.layout;
  auto goroutine = go::goroutine_layout(program.version);
  return {.offset = static_cast<uint64_t>(program.offset),
          .offset_at = program.offset_at_in(code),
          .g_m = layout.g_m,
          .g_sched_sp = layout.g_sched_sp,
          .g_sched_bp = layout.g_sched_bp,
          .g_goid = layout.g_goid,
          .g_labels = layout.g_labels,
          // 0: it is not known where this version keeps it, and the creator is not read.
          .g_created_at = goroutine ? goroutine->created_at : uint16_t{0},
          .m_gsignal = layout.m_gsignal,
          .m_curg = layout.m_curg,
          .g_stack_barriers = layout.g_stack_barriers,
          .g_stack_guard = layout.g_stack_guard,
          .has_label_map = layout.has_label_map,
          .callback_frame = layout.callback_frame,
          .code = code.start,
          .code_size = code.length};
}

void BpfSampler::set_go_program(const GoProgram& program, const MapEvent& code) {
  keeper_.put(bpf_->maps.go_programs, code.pid, to_bpf(program, code), BPF_ANY);
}

void BpfSampler::forget_go_program(uint32_t pid) {
  keeper_.remove(bpf_->maps.go_programs, pid);
}

// Called again when CPUs have come (follow_cpus()): to enable an event once more changes
// nothing, but what is counted from the start is not to begin anew.
Result<> BpfSampler::start() {
  if (!is_started_ && waits_)
    waits_->start();
  if (!is_started_) {
    charged_cpus_ = wanted_cpus();
    charged_at_start_ = charged_time(options_.scope, charged_cpus_, *bpf_, keeper_);
  }
  is_started_ = true;
  for (const auto& [cpu, events] : opened_)
    for (const UniqueFd& event : events)
      if (ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
        return system_error("cannot start sampling", errno);
  // Last, so that the slow timers run when the first one ticks.
  for (const FirstTimer& timer : first_timers_)
    if (ioctl(timer.fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
      return system_error("cannot start sampling", errno);
  return Ok{};
}

void BpfSampler::stop() {
  is_started_ = false;
  for (const auto& [cpu, events] : opened_)
    for (const UniqueFd& event : events)
      ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
  first_timers_.clear();
  charged_ns_ = charged_since_start();
  if (waits_)
    open_waits_ = waits_->stop();
}

uint64_t BpfSampler::charged_since_start() const {
  auto charged = charged_time(options_.scope, charged_cpus_, *bpf_, keeper_);
  return charged && charged_at_start_ && *charged > *charged_at_start_
             ? *charged - *charged_at_start_
             : 0;
}

uint64_t BpfSampler::charged_ns() const {
  return is_started_ ? charged_since_start() : charged_ns_;
}

// An event of a CPU that has gone stays silent for good, also when the CPU comes back.
Result<> BpfSampler::follow_cpus(std::vector<SidebandRecord>& records) {
  std::vector<uint32_t> online = proc::online_cpus();
  if (std::ranges::equal(online, online_))
    return Ok{};
  // The recorder calls this at each write; the first time is before the start.
  // The idle time of a CPU that was not there all the time is not known, so neither is the
  // charged time.
  if (!online_.empty() && options_.scope.is_system_wide)
    charged_at_start_.reset();
  online_ = online;
  if (auto followed = sideband_->follow_cpus(online, records); !followed)
    return followed;
  std::vector<uint32_t> wanted = wanted_cpus();
  auto is_gone = [&](uint32_t cpu) { return std::ranges::find(wanted, cpu) == wanted.end(); };
  std::erase_if(opened_, [&](const auto& entry) { return is_gone(entry.first); });
  std::erase_if(first_timers_, [&](const FirstTimer& timer) { return is_gone(timer.cpu); });
  for (uint32_t cpu : wanted)
    if (!opened_.contains(cpu))
      if (auto opened = open_events(cpu); !opened)
        return opened;
  return is_started_ ? start() : Ok{};
}

void BpfSampler::drain_samples(const Handler& handler) {
  close_first_timers();
  if (waits_)
    waits_->adapt(taken_waits());
  handler_ = &handler;
  for (auto& [cpu, ring] : rings_)
    ring.consume([this](Bytes record) { hand_over(record); });
  // Waits that were open at the end have no ring, and come as records of the same form.
  for (const std::string& record : std::exchange(open_waits_, {}))
    open_wait_count_ += hand_over(as_bytes(record)) ? 1 : 0;
  handler_ = nullptr;
}

// Samples of waits so far, stored or lost.
uint64_t BpfSampler::taken_waits() const {
  uint64_t taken = 0;
  for (const auto& [cpu, ring] : rings_)
    for (uint32_t i = 0; i < events_.size(); i++)
      if (events_[i].source == EventSource::kOffCpu) {
        gosym_counters counts = counters_at(i, cpu);
        taken += counts.stored + counts.lost;
      }
  return taken;
}

void BpfSampler::drain_events(std::vector<SidebandRecord>& records) {
  sideband_->drain(records);
}

bool BpfSampler::hand_over(Bytes record) const {
  constexpr size_t kHeaderSize = offsetof(gosym_sample, stack);
  const auto& sample = *reinterpret_cast<const gosym_sample*>(record.data());
  if (record.size() < kHeaderSize)
    return false;
  // Behind the header: user stack, kernel stack, labels, top of the stack, words from further
  // up, other stacks, passed callers (bpf/sample.h).
  uint64_t depth = uint64_t{sample.user_depth} + sample.kernel_depth;
  uint64_t labels_size = sizeof(gosym_label) * uint64_t{sample.label_count};
  uint64_t top_end = kHeaderSize + 8 * depth + labels_size + sample.top_size;
  uint64_t pieces_begin = top_end + sample.far_size;
  uint64_t passed_begin = pieces_begin + sizeof(gosym_piece) * uint64_t{sample.piece_count};
  uint64_t passed_size = sizeof(gosym_passed) * uint64_t{sample.passed_count};
  // All parts are known to be there if the record is exactly as long as its counts say.
  if (sample.piece_count > GOSYM_MAX_PIECES || sample.event >= events_.size() ||
      record.size() != passed_begin + passed_size)
    return false;
  // __u64 and uint64_t are different types of the same shape.
  std::span stack(reinterpret_cast<const uint64_t*>(sample.stack),
                  depth + (labels_size + sample.top_size) / 8);
  StackTop top = {.stack_pointer = sample.stack_pointer,
                  .words = stack.subspan(depth + labels_size / 8),
                  .misaligned = sample.misaligned,
                  .code_mask = code_mask_};
  std::vector<StackWord> far_words = far_words_in(record.subspan(top_end, sample.far_size));
  top.far_words = far_words;
  // Words and pieces behind the variable parts may lie at addresses that their types do not
  // allow, so they are copied; the stack is not, as the ring aligns records by 8.
  std::vector<gosym_piece> pieces =
      pieces_in(record.subspan(pieces_begin, passed_begin - pieces_begin));
  std::vector<StackPiece> places = with_words(pieces);
  top.pieces = places;
  std::vector<PassedCaller> passed = passed_callers_in(record.subspan(passed_begin));
  top.passed = passed;
  std::vector<StackSwitch> switches = switches_of(pieces, sample);
  std::vector<uint64_t> user_stack = unrolled(stack.first(sample.user_depth), sample.missing);
  std::vector<Label> labels = labels_of(sample);
  std::string waker = waker_of(sample);
  std::vector<uint64_t> registers = general_registers(sample);
  top.registers = registers;
  top.red_zone = std::span(reinterpret_cast<const uint64_t*>(sample.red_zone), GOSYM_RED_ZONE);
  // The handler takes what it keeps before it returns: the spans are of the ring, or of the
  // vectors above.
  (*handler_)(
      {
          .time = sample.time,
          .pid = sample.pid,
          .tid = sample.tid,
          .cpu = sample.cpu,
          .user_end = static_cast<StackEnd>(sample.user_end),
          .kernel_stack = stack.subspan(sample.user_depth, sample.kernel_depth),
          .user_stack = user_stack,
          .frame_offset =
              sample.user_depth > 0 ? frame_offset(sample.frame_pointer, top) : kNoFrame,
          .words = {},
          .goid = sample.goid,
          .labels = labels,
          .goroutine_start =
              switches.empty() ? 0u : static_cast<uint32_t>(switches.front().start),
          .switches = switches,
          .gap = sample.missing == 0 ? 0u : GOSYM_INNER_FRAMES,
          .missing = sample.missing,
          .event = sample.event,
          .weight = have_weights_[sample.event] ? sample.weight : 0,
          .cgroup = sample.cgroup,
          .state = text_of_state(sample.state),
          .waker = waker,
          .creator = sample.creator,
          .doublings = sample.doublings,
      },
      top);
  return true;
}

BpfSampler::Counters BpfSampler::counters() const {
  Counters counters{{},
                    bpf_->bss->unfollowed,
                    sideband_->limits().refused_count(),
                    waits_ ? waits_->hung_reads() : 0,
                    waits_ ? waits_->untracked() : 0,
                    charged_ns_};
  // A CPU that has gone keeps its ring, and so its counts.
  for (const auto& [cpu, ring] : rings_) {
    for (uint32_t i = 0; i < events_.size(); i++) {
      // Losses of the side band are of a CPU, not of an event: the first event has them.
      gosym_counters counts = counters_at(i, cpu);
      Sideband::Counts of_cpu = i == 0 ? sideband_->counts(cpu) : Sideband::Counts{};
      counters.cpus.push_back({.cpu = cpu,
                               .samples = counts.stored,
                               .lost_samples = counts.lost,
                               .lost_events = of_cpu.lost,
                               .throttled_ns = of_cpu.throttled_ns,
                               .skipped = counts.skipped,
                               .lost_ns = counts.lost_ns,
                               .event = i});
    }
  }
  // Threads that still wait are on no CPU, and are counted with the first one.
  auto of_waits = std::ranges::find_if(counters.cpus, [this](const CpuCounts& counts) {
    return events_[counts.event].source == EventSource::kOffCpu;
  });
  if (of_waits != counters.cpus.end())
    of_waits->samples += open_wait_count_;
  return counters;
}

}  // namespace gosym
