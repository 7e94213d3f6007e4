#include "record/bpf_sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sample.h>
#include <sampler.skel.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "record/rights.h"

namespace gosym {

static_assert(GOSYM_END_ROOT == static_cast<int>(StackEnd::kRoot));
static_assert(GOSYM_END_UNREADABLE == static_cast<int>(StackEnd::kUnreadable));
static_assert(GOSYM_END_BAD_FRAME == static_cast<int>(StackEnd::kBadFrame));
static_assert(GOSYM_END_LIMIT == static_cast<int>(StackEnd::kLimit));
static_assert(GOSYM_MAX_TOP_SIZE == kMaxTopSize);

namespace {

int open_perf_event(perf_event_attr& attr, int cpu) {
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

perf_event_attr clock_event(const SamplerOptions& options) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.freq = 1;
  attr.sample_freq = options.frequency;
  attr.disabled = 1;
  attr.exclude_idle = 1;
  attr.exclude_user = !options.has_user;
  attr.exclude_kernel = !options.has_kernel;
  return attr;
}

// A power of two, as the kernel wants it.
uint32_t ring_size_for(const SamplerOptions& options) {
  constexpr uint64_t kMaxFramesSize = 2048;  // of all but the deepest stacks
  uint64_t stack_size =
      options.stack_mode == StackMode::kFramePointers ? kLeafTopSize : options.stack_size;
  uint64_t wanted = std::bit_ceil(options.frequency / 2 * (kMaxFramesSize + stack_size));
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(wanted, GOSYM_MIN_RING_SIZE, GOSYM_MAX_RING_SIZE));
}

Result<UniqueFd> create_ring(uint32_t size) {
  UniqueFd map(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "samples", 0, 0, size, nullptr));
  if (!map)
    return denied_or_failed("cannot create a ring buffer", errno);
  return map;
}

// From the stack pointer; none if it lies elsewhere.
uint64_t frame_offset(const gosym_sample& sample) {
  uint64_t offset = sample.frame_pointer - sample.stack_pointer;
  return sample.user_depth > 0 && offset <= kMaxTopSize && offset % 8 == 0 ? offset : kNoFrame;
}

std::string text_of(const char* text, uint32_t size, size_t max_size) {
  return {text, std::min<size_t>(size, max_size)};
}

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

// What the kernel says where there is no such counter: in many virtual machines.
bool is_missing_event(int cause) {
  return cause == ENOENT || cause == EOPNOTSUPP;
}

}  // namespace

Result<std::unique_ptr<Sampler>> BpfSampler::open(const SamplerOptions& options) {
  std::unique_ptr<BpfSampler> sampler(new BpfSampler);
  if (auto loaded = sampler->load(options); !loaded)
    return std::move(loaded).error();
  for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
    if (auto opened = sampler->open_event(options, cpu); !opened)
      return std::move(opened).error();
  auto sideband = Sideband::open();
  if (!sideband)
    return std::move(sideband).error();
  sampler->sideband_ = *std::move(sideband);
  if (auto watched = sampler->watch_rings(); !watched)
    return std::move(watched).error();
  return std::unique_ptr<Sampler>(std::move(sampler));
}

BpfSampler::~BpfSampler() = default;

Result<> BpfSampler::load(const SamplerOptions& options) {
  bpf_ = {sampler_bpf__open(), sampler_bpf__destroy};
  if (!bpf_)
    return system_error("cannot open the BPF program", errno);
  bpf_->rodata->is_system_wide = options.scope.is_system_wide;
  bpf_->rodata->has_user = options.has_user;
  bpf_->rodata->has_kernel = options.has_kernel;
  bpf_->rodata->has_goroutines = options.has_goroutines;
  bool follows = options.scope.follows_children && !options.scope.is_system_wide;
  bpf_program__set_autoload(bpf_->progs.follow_child, follows);
  bool has_words_only = options.stack_mode == StackMode::kWords;
  bool has_chain_only = options.stack_mode == StackMode::kFramePointers;
  bpf_->rodata->trusts_chain = !has_words_only;
  bpf_->rodata->top_size = has_words_only ? options.stack_size : kLeafTopSize;
  bpf_->rodata->broken_top_size = has_chain_only ? kLeafTopSize : options.stack_size;
  ring_size_ = bpf_->rodata->ring_size = ring_size_for(options);
  // Kernels before 5.10 take only rings as large as the one that the map was made with.
  auto ring = create_ring(ring_size_);
  if (!ring)
    return std::move(ring).error();
  bpf_map__set_inner_map_fd(bpf_->maps.rings, ring->get());
  auto cpu_count = static_cast<uint32_t>(libbpf_num_possible_cpus());
  bpf_map__set_max_entries(bpf_->maps.rings, cpu_count);
  bpf_map__set_max_entries(bpf_->maps.scratch, cpu_count);
  if (int status = sampler_bpf__load(bpf_.get()); status != 0)
    return denied_or_failed("cannot load the BPF program", -status);
  // The perf event program is not among those that this attaches.
  if (int status = sampler_bpf__attach(bpf_.get()); status != 0)
    return denied_or_failed("cannot attach to the scheduler's trace points", -status);
  for (uint32_t pid : options.scope.pids)
    if (auto added = add_target(pid); !added)
      return added;
  return Ok{};
}

Result<> BpfSampler::open_event(const SamplerOptions& options, int cpu) {
  perf_event_attr attr = clock_event(options);
  UniqueFd event;
  if (event_ != "cpu-clock") {
    perf_event_attr cycles = attr;
    cycles.type = PERF_TYPE_HARDWARE;
    cycles.config = PERF_COUNT_HW_CPU_CYCLES;
    event.reset(open_perf_event(cycles, cpu));
    event_ = event || !is_missing_event(errno) ? "cycles" : "cpu-clock";
  }
  if (event_ == "cpu-clock")
    event.reset(open_perf_event(attr, cpu));
  if (!event && errno == ENODEV)  // the CPU is offline
    return Ok{};
  if (!event)
    return denied_or_failed(fmt::format("cannot open a {} event", event_), errno);
  // Without a link: it would start the event at once, and need Linux 5.15.
  int program = bpf_program__fd(bpf_->progs.take_sample);
  if (ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program) != 0)
    return denied_or_failed("cannot attach the BPF program", errno);
  events_.push_back(std::move(event));
  return open_ring(cpu);
}

Result<> BpfSampler::open_ring(int cpu) {
  auto map = create_ring(ring_size_);
  if (!map)
    return std::move(map).error();
  auto key = static_cast<uint32_t>(cpu);
  int fd = map->get();
  if (bpf_map_update_elem(bpf_map__fd(bpf_->maps.rings), &key, &fd, BPF_ANY) != 0)
    return system_error("cannot install a ring buffer", errno);
  ring_maps_.push_back(*std::move(map));

  int status = 0;
  if (rings_)
    status = ring_buffer__add(rings_.get(), fd, on_sample, this);
  else
    rings_ = {ring_buffer__new(fd, on_sample, this, nullptr), ring_buffer__free};
  if (!rings_ || status != 0)
    return system_error("cannot map a ring buffer", rings_ ? -status : errno);
  return Ok{};
}

Result<> BpfSampler::add_target(uint32_t pid) {
  uint8_t present = 1;
  if (bpf_map_update_elem(bpf_map__fd(bpf_->maps.targets), &pid, &present, BPF_ANY) != 0)
    return system_error(fmt::format("cannot sample process {}", pid), errno);
  return Ok{};
}

void BpfSampler::set_go_program(uint32_t pid, const GoProgram& program, uint64_t offset_at) {
  const go::RuntimeLayout& layout = *program.layout;
  gosym_go_program value = {.offset = static_cast<uint64_t>(program.offset),
                            .offset_at = offset_at,
                            .g_m = layout.g_m,
                            .g_sched_sp = layout.g_sched_sp,
                            .g_sched_bp = layout.g_sched_bp,
                            .g_goid = layout.g_goid,
                            .g_labels = layout.g_labels,
                            .m_gsignal = layout.m_gsignal,
                            .m_curg = layout.m_curg,
                            .has_label_map = layout.has_label_map,
                            .callback_frame = layout.callback_frame};
  bpf_map_update_elem(bpf_map__fd(bpf_->maps.go_programs), &pid, &value, BPF_ANY);
}

void BpfSampler::forget_go_program(uint32_t pid) {
  bpf_map_delete_elem(bpf_map__fd(bpf_->maps.go_programs), &pid);
}

Result<> BpfSampler::start() {
  for (const UniqueFd& event : events_)
    if (ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
      return system_error("cannot start sampling", errno);
  return Ok{};
}

void BpfSampler::stop() {
  for (const UniqueFd& event : events_)
    ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
}

Result<> BpfSampler::watch_rings() {
  epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  epoll_event interest{.events = EPOLLIN, .data = {}};
  for (int fd : {ring_buffer__epoll_fd(rings_.get()), sideband_->poll_fd()})
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &interest) != 0)
      return system_error("cannot watch the rings", errno);
  return Ok{};
}

void BpfSampler::drain_samples(const Handler& handler) {
  handler_ = &handler;
  ring_buffer__consume(rings_.get());
  handler_ = nullptr;
}

void BpfSampler::drain_events(std::vector<SidebandRecord>& records) {
  sideband_->drain(records);
}

// Called by libbpf: a C frame lies below, so nothing may be thrown across it.
int BpfSampler::on_sample(void* context, void* data, size_t size) noexcept {
  constexpr size_t kHeaderSize = offsetof(gosym_sample, stack);
  const auto& sample = *static_cast<const gosym_sample*>(data);
  if (size < kHeaderSize)
    return 0;
  uint64_t depth = uint64_t{sample.user_depth} + sample.kernel_depth;
  uint64_t labels_size = sizeof(gosym_label) * uint64_t{sample.label_count};
  if (size != kHeaderSize + 8 * depth + labels_size + sample.top_size)
    return 0;
  // __u64 and uint64_t are different types of the same shape.
  std::span stack(reinterpret_cast<const uint64_t*>(sample.stack),
                  depth + (labels_size + sample.top_size) / 8);
  std::vector<Label> labels = labels_of(sample);
  (*static_cast<const BpfSampler*>(context)->handler_)(
      {
          .time = sample.time,
          .pid = sample.pid,
          .tid = sample.tid,
          .cpu = sample.cpu,
          .user_end = static_cast<StackEnd>(sample.user_end),
          .kernel_stack = stack.subspan(sample.user_depth, sample.kernel_depth),
          .user_stack = stack.first(sample.user_depth),
          .frame_offset = frame_offset(sample),
          .words = {},
          .goid = sample.goid,
          .labels = labels,
          .bridge = sample.bridge,
      },
      sample.stack_pointer, stack.subspan(depth + labels_size / 8));
  return 0;
}

BpfSampler::Counters BpfSampler::counters() const {
  const gosym_counters& counters = bpf_->bss->counters;
  return {counters.stored, counters.lost, sideband_->lost(), counters.unfollowed};
}

}  // namespace gosym
