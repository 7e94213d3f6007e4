#include "record/perf_event.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/exit_status.h"
#include "proc/cpus.h"
#include "record/rights.h"

namespace gosym {

bool is_missing_event(int cause) {
  return cause == ENOENT || cause == EOPNOTSUPP || cause == ENODEV;
}

Result<EventType> choose_event(const SamplerOptions& options) {
  EventType event = options.event.value_or(cycles());
  if (open_perf_event(sampling_event(event, options), proc::online_cpus().front()))
    return event;
  if (!is_missing_event(errno))
    return denied_or_failed(fmt::format("cannot open a {} event", event.name), errno);
  if (!options.event)
    return cpu_clock();
  return errorf("this machine cannot count {}", event.name)
      .with_hint("virtual machines often cannot count what the CPU does: -e cpu-clock");
}

perf_event_attr timed_event(const EventType& event) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = event.type;
  attr.config = event.config;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

void tell_of_processes(perf_event_attr& attr) {
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
}

perf_event_attr sampling_event(const EventType& event, const SamplerOptions& options) {
  perf_event_attr attr = timed_event(event);
  attr.freq = options.period == 0;
  attr.sample_freq = options.period == 0 ? options.frequency : options.period;
  attr.disabled = 1;
  attr.exclude_idle = event.goes_on_idle;
  attr.exclude_user = !options.has_user;
  attr.exclude_kernel = !options.has_kernel;
  return attr;
}

// As the kernel counts it.
uint64_t tick_of(const EventType& event, const SamplerOptions& options) {
  bool is_clock =
      event.type == PERF_TYPE_SOFTWARE &&
      (event.config == PERF_COUNT_SW_CPU_CLOCK || event.config == PERF_COUNT_SW_TASK_CLOCK);
  if (!is_clock)
    return 0;
  return options.period != 0 ? options.period : 1'000'000'000 / options.frequency;
}

UniqueFd open_perf_event(perf_event_attr attr, uint32_t cpu, pid_t thread,
                         unsigned long flags) {
  return UniqueFd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, thread, static_cast<int>(cpu), -1,
                               flags | PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace gosym
