#include "record/bpf/wait_sampler.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sample.h>
#include <sampler.skel.h>
#include <unistd.h>
#include <waits.skel.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "proc/cgroups.h"
#include "proc/process.h"
#include "record/bpf/bpf_settings.h"
#include "record/keeper.h"
#include "record/rights.h"
#include "record/system_state.h"

namespace gosym {

namespace {

using Types = std::unique_ptr<btf, void (*)(btf*)>;

bool has_type(const btf& types, const char* name, uint32_t kind) {
  return btf__find_by_name_kind(&types, name, kind) > 0;
}

// Parameters of a trace point, with the one that all of them have in front; 0: there is none.
size_t parameters_of(const btf& types, const char* trace_point) {
  int id = btf__find_by_name_kind(&types, trace_point, BTF_KIND_TYPEDEF);
  // The type is a name for a pointer to the function that a program is called as.
  const btf_type* type = id > 0 ? btf__type_by_id(&types, static_cast<uint32_t>(id)) : nullptr;
  for (int i = 0; i < 2 && type && (btf_is_typedef(type) || btf_is_ptr(type)); i++)
    type = btf__type_by_id(&types, type->type);
  return type && btf_is_func_proto(type) ? btf_vlen(type) : 0;
}

// The compiler may have made a copy of the function: "finish_task_switch.isra.0". A line of the
// symbols has address, type and name.
std::string find_switch_function() {
  constexpr std::string_view kFunction = "finish_task_switch";
  std::string text = read_kernel_symbols();
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    take_word(line);
    take_word(line);
    std::string_view name = take_word(line);
    if (name == kFunction || (name.starts_with(kFunction) && name[kFunction.size()] == '.'))
      return std::string(name);
  }
  return {};
}

// Samples a second of one process, beyond which its threshold grows.
constexpr uint64_t kMaxProcessWaitRate = 1000;
// For all processes together: beyond it each may have fewer.
constexpr uint64_t kMaxWaitRate = 10'000;
// Nanoseconds in which samples are counted: the program begins with the same.
constexpr uint64_t kWaitSpan = 100'000'000;

// A user who asks for the end of a recording waits for the stacks of all threads that wait.
constexpr uint64_t kLastReadsTime = 700'000'000;

uint32_t state_of(char letter) {
  // The letters are those of proc(5). A thread that runs has no wait.
  switch (letter) {
    case 'S':
      return GOSYM_STATE_SLEEPING;
    case 'D':
      return GOSYM_STATE_DISK_SLEEP;
    case 'T':
      return GOSYM_STATE_STOPPED;
    case 't':
      return GOSYM_STATE_TRACING_STOP;
    case 'I':
      return GOSYM_STATE_IDLE;
    case 'P':
      return GOSYM_STATE_PARKED;
    default:
      return GOSYM_STATE_NONE;
  }
}

std::vector<uint32_t> threads_in(const Scope& scope) {
  std::vector<uint32_t> pids = scope.is_system_wide ? proc::process_ids() : scope.pids;
  for (const std::string& cgroup : scope.cgroups)
    std::ranges::copy(proc::processes_of_cgroup(cgroup), std::back_inserter(pids));
  std::vector<uint32_t> tids = scope.tids;
  for (uint32_t pid : pids)
    std::ranges::copy(proc::thread_ids(pid), std::back_inserter(tids));
  return tids;
}

// The top of the stack of a thread that waits, up to `size` bytes: as many pages as are there.
std::vector<uint64_t> read_top(MemoryHelper& memory, uint32_t pid, uint64_t stack_pointer,
                               uint64_t size) {
  constexpr uint64_t kPage = 4096;
  std::vector<uint64_t> words(size / 8);
  std::span<std::byte> room = std::as_writable_bytes(std::span(words));
  std::vector<proc::MemoryPiece> pieces;
  // One page a piece: if a page is not there the words below it are still read.
  for (uint64_t at = 0; at < size;) {
    uint64_t length = std::min(size - at, kPage - (stack_pointer + at) % kPage);
    pieces.push_back({stack_pointer + at, room.subspan(at, length)});
    at += length;
  }
  uint64_t read = 0;
  if (memory.read(pid, pieces))
    for (const proc::MemoryPiece& piece : pieces) {
      if (!piece.is_read)
        break;
      read += piece.bytes.size();
    }
  words.resize(read / 8);
  return words;
}

// The addresses that the chain of frame pointers leads to, as far as the words go: first where
// the thread waits, then return addresses. A frame is the place of its caller's and, in the
// next word, the return address. `end` is set to why the walk ended. It ends at the inner
// frames: no outer ones are told apart here, so that a deeper stack is one that was cut.
std::vector<uint64_t> walk(const gosym_sample& sample, std::span<const uint64_t> words,
                           uint32_t& end) {
  std::vector<uint64_t> stack = {sample.unwalked};
  uint64_t frame = sample.frame_pointer;
  while (stack.size() < GOSYM_INNER_FRAMES) {
    uint64_t index = (frame - sample.stack_pointer) / 8;
    end = frame == 0 ? GOSYM_END_ROOT : GOSYM_END_BAD_FRAME;
    // The place of the frame lies in the words that were read, with its return address.
    if (frame < sample.stack_pointer || frame % 8 != 0 || index + 1 >= words.size())
      return stack;
    if (words[index + 1] == 0) {
      end = GOSYM_END_ROOT;
      return stack;
    }
    stack.push_back(words[index + 1] & proc::code_mask());
    uint64_t next = words[index];
    // A caller's frame lies further up: anything else is no chain, and might have no end.
    if (next != 0 && next <= frame)
      return stack;
    frame = next;
  }
  end = GOSYM_END_LIMIT;
  return stack;
}

}  // namespace

Result<SwitchHook> find_switch_hook() {
  Types types(btf__load_vmlinux_btf(), btf__free);
  if (!types)
    return system_error("cannot read the kernel's types", errno).with_exit_status(kUnsupported);
  SwitchHook hook;
  // The parameter is part of the trace point's type, so it is known before a program is loaded
  // that asks for it.
  constexpr size_t kWithState = 5;
  hook.has_state = parameters_of(*types, "btf_trace_sched_switch") == kWithState;
  // A thread that comes back to a CPU is seen at the end of the scheduler, on its own stack.
  // Since Linux 6.15 there is a trace point; before, a function of the kernel is hooked, whose
  // name depends on the compiler.
  if (has_type(*types, "btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF))
    return hook;
  constexpr const char* kKprobes = "/sys/bus/event_source/devices/kprobe/type";
  if (access(kKprobes, F_OK) == 0)
    hook.function = find_switch_function();
  if (!hook.function.empty())
    return hook;
  return Error("this kernel has neither the trace point sched_exit_tp nor kprobes")
      .with_hint(
          "off-CPU samples take Linux 6.15, or a kernel with CONFIG_KPROBES whose "
          "/proc/kallsyms may be read")
      .with_exit_status(kUnsupported);
}

Result<std::unique_ptr<WaitSampler>> WaitSampler::open(const sampler_bpf& sampler,
                                                       Keeper& keeper,
                                                       const SamplerOptions& options,
                                                       uint32_t event, uint32_t ring_size) {
  auto hook = find_switch_hook();
  if (!hook)
    return std::move(hook).error().context("cannot sample off-cpu");
  std::unique_ptr<WaitSampler> waits(new WaitSampler(keeper, options));
  waits->hook_ = *std::move(hook);
  if (auto loaded = waits->load(sampler, event, ring_size); !loaded)
    return std::move(loaded).error();
  // The programs are attached while there are the rights for it.
  if (auto attached = waits->attach_all(); !attached)
    return std::move(attached).error();
  if (auto opened = waits->open_iterator(); !opened)
    return std::move(opened).error();
  keeper.keep_map(waits->bpf_->maps.waits, Keeper::MapUse::kChange);
  return waits;
}

WaitSampler::~WaitSampler() = default;

Result<> WaitSampler::load(const sampler_bpf& sampler, uint32_t event, uint32_t ring_size) {
  VerifierLog log;
  bpf_ = {waits_bpf__open_opts(&log.options), waits_bpf__destroy};
  if (!bpf_)
    return system_error("cannot open the BPF program for waits", errno);
  configure(*bpf_->rodata, options_, ring_size);
  bpf_->rodata->wait_event = event;
  bpf_->rodata->threshold = options_.events[event].period;
  bpf_->rodata->switch_has_state = hook_.has_state;
  // Only the program for the hook of this kernel is loaded.
  bpf_program__set_autoload(bpf_->progs.exit_scheduler, hook_.function.empty());
  bpf_program__set_autoload(bpf_->progs.finish_switch, !hook_.function.empty());
  bpf_map__set_max_entries(bpf_->maps.scratch, bpf_->rodata->cpu_count);
  // Both BPF objects write to the same rings and know the same targets.
  for (auto [own, other] : {std::pair(bpf_->maps.rings, sampler.maps.rings),
                            {bpf_->maps.counters, sampler.maps.counters},
                            {bpf_->maps.target_pids, sampler.maps.target_pids},
                            {bpf_->maps.target_tids, sampler.maps.target_tids},
                            {bpf_->maps.target_cgroups, sampler.maps.target_cgroups},
                            {bpf_->maps.go_programs, sampler.maps.go_programs}})
    if (bpf_map__reuse_fd(own, bpf_map__fd(other)) != 0)
      return system_error("cannot share a BPF map", errno);
  if (int status = waits_bpf__load(bpf_.get()); status != 0)
    return log.explain("cannot load the BPF program for waits", -status);
  return Ok{};
}

Result<> WaitSampler::attach(bpf_link* link, std::string_view where) {
  if (!link)
    return denied_or_failed(fmt::format("cannot attach to {}", where), errno);
  links_.emplace_back(link, bpf_link__destroy);
  return Ok{};
}

Result<> WaitSampler::attach_all() {
  auto& programs = bpf_->progs;
  bool has_trace_point = hook_.function.empty();
  auto attached =
      has_trace_point
          ? attach(bpf_program__attach_raw_tracepoint(programs.exit_scheduler, "sched_exit_tp"),
                   "the trace point sched_exit_tp")
          : attach(bpf_program__attach_kprobe(programs.finish_switch, /*retprobe=*/false,
                                              hook_.function.c_str()),
                   hook_.function);
  if (!attached)
    return attached;
  attached = attach(bpf_program__attach_raw_tracepoint(programs.wake, "sched_waking"),
                    "the trace point sched_waking");
  if (!attached)
    return attached;
  // Last, what begins a wait: none begins whose end would not be seen.
  return attach(bpf_program__attach_raw_tracepoint(programs.leave_cpu, "sched_switch"),
                "the trace point sched_switch");
}

Result<> WaitSampler::open_iterator() {
  Link link(bpf_program__attach_iter(bpf_->progs.take_open_wait, nullptr), bpf_link__destroy);
  if (link)
    open_waits_ = UniqueFd(bpf_iter_create(bpf_link__fd(link.get())));
  if (!open_waits_)
    return denied_or_failed("cannot iterate over threads", errno);
  return Ok{};
}

WaitSampler::WaitSampler(Keeper& keeper, const SamplerOptions& options)
    : keeper_(keeper), options_(options), rate_(kMaxProcessWaitRate) {}

// Down at once, for rings are filling; up in small steps, for thresholds take some time to
// follow. Called at each drain, which is more often than half a span: a rate of less time says
// little.
void WaitSampler::adapt(uint64_t taken) {
  uint64_t now = monotonic_ns();
  uint64_t since = now - adapted_;
  if (since < kWaitSpan / 2)
    return;
  uint64_t rate = (taken - taken_) * 1'000'000'000 / since;
  // At the first call there is no span that the samples are of.
  if (adapted_ != 0 && rate > kMaxWaitRate)
    rate_ = std::max<uint64_t>(rate_ * kMaxWaitRate / rate, 1);
  else if (rate < kMaxWaitRate / 2)
    rate_ = std::min(rate_ + rate_ / 4 + 1, kMaxProcessWaitRate);
  adapted_ = now;
  taken_ = taken;
  // A span has one sample at least, so at low rates it becomes longer.
  uint64_t most = std::max<uint64_t>(rate_ * kWaitSpan / 1'000'000'000, 1);
  bpf_->data->most_in_span = static_cast<uint32_t>(most);
  bpf_->data->span = most * 1'000'000'000 / rate_;
}

void WaitSampler::start() {
  bpf_->bss->is_on = 1;
  add_waiting();
}

// Threads that have been waiting since before: for this recording from now on. One that has
// come to a CPU since its state was read is taken for waiting until it leaves that.
void WaitSampler::add_waiting() {
  gosym_wait wait{};
  wait.left = monotonic_ns();
  for (uint32_t tid : threads_in(options_.scope)) {
    auto status = proc::status_of(tid);
    wait.state = state_of(status ? status->state : '\0');
    if (wait.state != GOSYM_STATE_NONE)
      // BPF_NOEXIST: a wait that the program has noted meanwhile is the newer one.
      keeper_.put(bpf_->maps.waits, tid, wait, BPF_NOEXIST);
  }
}

std::string WaitSampler::read_open_waits() const {
  constexpr size_t kReadAtOnce = 256 << 10;  // several records
  std::string text;
  std::string step(kReadAtOnce, '\0');
  while (true) {
    // A read runs the iterator on, over all threads; EAGAIN means that it has not come to one
    // yet.
    ssize_t size = ::read(open_waits_.get(), step.data(), step.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (size <= 0)
      break;
    text.append(step, 0, static_cast<size_t>(size));
  }
  return text;
}

// A record without a user stack, for which `unwalked` is the instruction pointer, becomes one
// with. An `unwalked` of 0 means that there is none to be read.
std::string WaitSampler::with_user_stack(std::string_view record) {
  constexpr size_t kSampleHeader = offsetof(gosym_sample, stack);
  auto header = std::make_unique<gosym_sample>();
  std::memcpy(header.get(), record.data(), kSampleHeader);
  gosym_sample& sample = *header;
  std::vector<uint64_t> words;
  std::vector<uint64_t> stack;
  if (sample.unwalked != 0) {
    // The stack of a thread that waits does not change while it is read.
    words = read_top(memory_, sample.pid, sample.stack_pointer, bpf_->rodata->broken_top_size);
    stack = walk(sample, words, sample.user_end);
  }
  sample.unwalked = 0;
  sample.user_depth = static_cast<uint32_t>(stack.size());
  sample.top_size = static_cast<uint32_t>(8 * words.size());
  // In the order of bpf/sample.h: header, user stack, kernel stack, top of the stack.
  std::string result(reinterpret_cast<const char*>(&sample), kSampleHeader);
  result.append(reinterpret_cast<const char*>(stack.data()), 8 * stack.size());
  result += record.substr(kSampleHeader);
  result.append(reinterpret_cast<const char*>(words.data()), 8 * words.size());
  return result;
}

// The iterator is read while the programs still run: a thread that comes to a CPU meanwhile has
// its sample there, and none is in both. Only then nothing new begins.
std::vector<std::string> WaitSampler::stop() {
  constexpr size_t kSampleHeader = offsetof(gosym_sample, stack);
  std::vector<std::string> records;
  std::string text = read_open_waits();
  memory_.hurry(kLastReadsTime);
  bpf_->bss->is_on = 0;
  std::string_view rest = text;
  // The iterator's records have a kernel stack, but no user stack yet: header and depth tell
  // the size.
  while (rest.size() >= kSampleHeader) {
    uint32_t depth = 0;
    std::memcpy(&depth, rest.data() + offsetof(gosym_sample, kernel_depth), sizeof(depth));
    size_t size = kSampleHeader + 8 * size_t{depth};
    if (size > rest.size())
      break;
    records.push_back(with_user_stack(rest.substr(0, size)));
    rest.remove_prefix(size);
  }
  return records;
}

uint64_t WaitSampler::untracked() const {
  return bpf_->bss->untracked;
}

}  // namespace gosym
