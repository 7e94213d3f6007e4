#include "goroutine/wall_sampler.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "base/clock.h"
#include "base/exit_status.h"
#include "goroutine/go_runtime.h"
#include "goroutine/wall_samples.h"
#include "proc/process.h"
#include "record/system_state.h"

namespace gosym {

namespace {

// A process is asked again that long after it was not found to run Go code.
constexpr uint64_t kAskAgainAfter = 100'000'000;

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

// Asks for short turns on the CPU, and in return for soon ones: of a busy CPU a look that is
// late is one at the moment when who was running there begins to wait. No share of the CPU is
// gained by it. A kernel before Linux 6.12 takes no notice, nor does another policy, which the
// user chose.
void take_short_turns() {
  // struct sched_attr of linux/sched/types.h, which cannot be included beside sched.h.
  struct {
    uint32_t size = 48;
    uint32_t policy = 0;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime = 0;  // nanoseconds
    uint64_t deadline = 0;
    uint64_t period = 0;
  } attributes;
  static_assert(sizeof(attributes) == 48);
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0 ||
      attributes.policy != SCHED_OTHER)
    return;
  attributes.flags = 1;          // SCHED_FLAG_RESET_ON_FORK: children have the usual turns
  attributes.runtime = 100'000;  // the least the kernel grants
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// A descriptor that can be read as soon as one of these can; below 0 is none.
Result<UniqueFd> open_poll(std::initializer_list<int> watched) {
  UniqueFd poll(epoll_create1(EPOLL_CLOEXEC));
  if (!poll)
    return system_error("cannot wait for samples", errno);
  for (int fd : watched) {
    epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    if (fd >= 0 && epoll_ctl(poll.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return system_error("cannot wait for samples", errno);
  }
  return poll;
}

}  // namespace

// A process whose goroutines are sampled.
class WallSampler::Process {
public:
  Process(uint32_t pid, MemoryHelper& memory, FileHelper& files)
      : pid_(pid), memory_(memory), files_(files), read_memory_(memory.reader_of(pid)) {}

  // True if it runs Go code whose goroutines can be read.
  Result<bool> find_runtimes(uint64_t now) {
    ask_at_ = now + kAskAgainAfter;
    owners_.clear();
    runtimes_.clear();
    auto code = GoCode::open(pid_, files_);
    if (!code)
      return std::move(code).error();
    code_ = std::make_unique<GoCode>(*std::move(code));
    // Layouts are known of 64 bits only.
    for (const GoFile& file : code_->files()) {
      GoRuntime runtime = make_runtime(file, *code_);
      if (file.image->pointer_size == kGoWord && !runtime.allgs.empty())
        runtimes_.emplace_back(std::move(runtime), read_memory_,
                               [this](uint64_t address) { return owner_at(address); });
    }
    return !runtimes_.empty();
  }

  // Hands over what some of its goroutines do: each stands for so much time of its own, and for
  // others. Gives how many these are.
  uint64_t look(std::span<const double> random, uint64_t now, uint64_t elapsed_ns,
                uint32_t event, const Handler& handler) {
    // A process may execute another program, so one without Go code is asked again now and
    // then.
    if (runtimes_.empty() && now >= ask_at_ && !memory_.has_hung(pid_)) {
      auto found = find_runtimes(now);
      is_new_program_ = found && *found;
    }
    RecordedSample base;
    base.time = now;
    base.pid = pid_;
    base.event = event;
    // Each sample stands for the time since the last look, whatever the timer was set to.
    base.weight = elapsed_ns;
    uint64_t count = 0;
    // The sample has the words of its stack already: no top is handed over to find them in.
    auto take = [&](const RecordedSample& sample) {
      handler(sample, {});
      count++;
    };
    for (WallSamples& runtime : runtimes_) {
      uint64_t before = runtime.shortened();
      bool is_there = runtime.look(random, base, take);
      shortened_ += runtime.shortened() - before;
      if (!is_there) {
        runtimes_.clear();  // it has ended, or runs another program
        break;
      }
    }
    return count;
  }

  uint64_t shortened() const { return shortened_; }

  // Once it was looked for.
  const GoCode& code() const { return *code_; }

  // Appends what the program has mapped that the last look was the first at, if it was.
  void tell_program(uint64_t time, std::vector<SidebandRecord>& records) {
    if (!std::exchange(is_new_program_, false))
      return;
    auto maps = files_.read_maps(pid_);
    if (!maps)
      return;
    auto mappings = code_mappings_in(*maps, pid_, time);
    if (!mappings)
      return;
    // An exec at this moment stands for it: readers take what the process was before for
    // another program.
    records.emplace_back(
        CommEvent{time, pid_, pid_, proc::comm_of(pid_, pid_).value_or(""), true});
    for (RawMapping& mapping : *mappings)
      records.emplace_back(std::move(mapping));
  }

private:
  WallSamples::Owner owner_at(uint64_t address) {
    constexpr size_t kMaxKnown = 1 << 16;
    // A cache, so it may be emptied at any time.
    if (owners_.size() > kMaxKnown)
      owners_.clear();
    auto [known, is_new] = owners_.try_emplace(address);
    // The outermost call is the function that has the code: others are inlined there. Code that
    // has no name is not the runtime's.
    if (is_new)
      if (std::vector<Call> calls = code_->calls_at(address); !calls.empty())
        known->second = {calls.back().function.starts_with("runtime."),
                         is_of_runtime(calls.back().function)};
    return known->second;
  }

  uint32_t pid_;
  MemoryHelper& memory_;
  FileHelper& files_;
  proc::ReadMemory read_memory_;
  uint64_t ask_at_ = 0;
  bool is_new_program_ = false;
  uint64_t shortened_ = 0;                         // stacks (wall_samples.h)
  std::unique_ptr<GoCode> code_;                   // null until it was found
  std::vector<WallSamples> runtimes_;              // borrow from it
  std::map<uint64_t, WallSamples::Owner> owners_;  // of code, by address
};

WallSampler::WallSampler(std::unique_ptr<Sampler> inner, const WallOptions& options)
    : inner_(std::move(inner)),
      may_begin_later_(options.may_begin_later),
      generator_(options.seed),
      period_ns_(kNanosecondsPerSecond / options.frequency) {
  if (inner_)
    events_.assign(inner_->events().begin(), inner_->events().end());
  EventType wall;
  wall.name = kWallEvent;
  wall.frequency = options.frequency;
  wall.source = EventSource::kGoroutines;
  events_.push_back(wall);
  for (uint32_t pid : options.pids)
    processes_.push_back(std::make_unique<Process>(pid, memory_, files_));
  // Each number goes its own way by choose(), so that it is drawn once.
  for (size_t i = 0; i < options.most + 1; i++)  // and who is checked
    random_.push_back(std::uniform_real_distribution<double>(0, 1)(generator_));
}

WallSampler::~WallSampler() = default;

// Fails if no process runs Go code, unless one may begin to later.
Result<> WallSampler::find_go_code() {
  bool is_found = may_begin_later_;
  std::string doubt;
  for (const std::unique_ptr<Process>& process : processes_) {
    auto found = process->find_runtimes(monotonic_ns());
    if (!found)
      return std::move(found).error();
    is_found |= *found;
    if (doubt.empty())
      doubt = process->code().doubt();
  }
  return is_found ? Result<>(Ok{})
                  : errorf("wall: none of the processes runs Go code{}", doubt)
                        .with_exit_status(kNoTarget);
}

Result<std::unique_ptr<Sampler>> WallSampler::open(std::unique_ptr<Sampler> inner,
                                                   const WallOptions& options) {
  std::unique_ptr<WallSampler> sampler(new WallSampler(std::move(inner), options));
  sampler->timer_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!sampler->timer_)
    return system_error("cannot set a timer", errno);
  if (auto found = sampler->find_go_code(); !found)
    return std::move(found).error();
  auto poll =
      open_poll({sampler->timer_.get(), sampler->inner_ ? sampler->inner_->poll_fd() : -1});
  if (!poll)
    return std::move(poll).error();
  sampler->poll_ = *std::move(poll);
  return std::unique_ptr<Sampler>(std::move(sampler));
}

void WallSampler::set_go_program(const GoProgram& program, const MapEvent& code) {
  if (inner_)
    inner_->set_go_program(program, code);
}

void WallSampler::forget_go_program(uint32_t pid) {
  if (inner_)
    inner_->forget_go_program(pid);
}

Result<> WallSampler::start() {
  take_short_turns();
  looked_at_ = due_at_ = monotonic_ns();
  if (auto set = set_timer(); !set)
    return std::move(set).error();
  return inner_ ? inner_->start() : Result<>(Ok{});
}

// Looks come at times that no program works by: one that does something each 10 ms, or in turns
// of a few, is seen as often in each of its turns as they are long. All intervals are equally
// likely from half of the period to one and a half.
Result<> WallSampler::set_timer() {
  std::uniform_real_distribution<double> share(0.5, 1.5);
  due_at_ += static_cast<uint64_t>(share(generator_) * static_cast<double>(period_ns_));
  due_at_ = std::max(due_at_, looked_at_ + period_ns_ / 2);  // the machine was held up
  uint64_t now = monotonic_ns();
  uint64_t left = due_at_ > now ? due_at_ - now : 1;  // 0 would stop the timer
  itimerspec setting = {
      .it_interval = {},
      .it_value = {.tv_sec = static_cast<time_t>(left / kNanosecondsPerSecond),
                   .tv_nsec = static_cast<long>(left % kNanosecondsPerSecond)}};
  if (timerfd_settime(timer_.get(), 0, &setting, nullptr) != 0)
    return system_error("cannot set a timer", errno);
  return Ok{};
}

void WallSampler::stop() {
  is_stopped_ = true;
  if (inner_)
    inner_->stop();
}

// The samples of the time up to the end are of the look that comes when all is stopped.
void WallSampler::drain_samples(const Handler& handler) {
  if (inner_)
    inner_->drain_samples(handler);
  uint64_t ticks = 0;
  bool is_due = read(timer_.get(), &ticks, sizeof(ticks)) == sizeof(ticks) || is_stopped_;
  if (is_due && looked_at_ != 0)
    look(handler);
  // After the look, whose time the next one counts from.
  if (is_due && !is_stopped_)
    (void)set_timer();  // which was set before
}

void WallSampler::look(const Handler& handler) {
  uint64_t now = monotonic_ns();
  // The look after stop() is the last: 0 keeps drain_samples() from another one.
  uint64_t elapsed_ns = now - std::exchange(looked_at_, is_stopped_ ? 0 : now);
  auto event = static_cast<uint32_t>(events_.size() - 1);
  for (const std::unique_ptr<Process>& process : processes_)
    sample_count_ += process->look(random_, now, elapsed_ns, event, handler);
  // Without another sampler nobody else tells what was executed: it was before these samples.
  if (!inner_)
    for (const std::unique_ptr<Process>& process : processes_)
      process->tell_program(now - 1, records_);
  choose();
}

// The golden section spreads any number of looks evenly.
void WallSampler::choose() {
  constexpr double kGoldenSection = 0.6180339887498949;
  for (double& number : random_) {
    number += kGoldenSection;
    number -= number >= 1 ? 1 : 0;
  }
}

void WallSampler::drain_events(std::vector<SidebandRecord>& records) {
  if (inner_)
    inner_->drain_events(records);
  records.insert(records.end(), records_.begin(), records_.end());
  records_.clear();
}

std::set<uint32_t> WallSampler::take_refused() {
  return inner_ ? inner_->take_refused() : std::set<uint32_t>();
}

Result<> WallSampler::follow_cpus(std::vector<SidebandRecord>& records) {
  return inner_ ? inner_->follow_cpus(records) : Result<>(Ok{});
}

WallSampler::Counters WallSampler::counters() const {
  Counters counters = inner_ ? inner_->counters() : Counters();
  // Goroutines are of no CPU: the row has the number 0, and is told by its event.
  counters.cpus.push_back(
      {.samples = sample_count_, .event = static_cast<uint32_t>(events_.size() - 1)});
  counters.hung_reads += memory_.hung_count() + files_.hung_count();
  for (const std::unique_ptr<Process>& process : processes_)
    counters.shortened += process->shortened();
  return counters;
}

uint32_t WallSampler::cpu_count() const {
  return inner_ ? inner_->cpu_count() : static_cast<uint32_t>(proc::online_cpus().size());
}

}  // namespace gosym
