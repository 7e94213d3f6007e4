#include "record/sideband.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>

#include "proc/cpus.h"
#include "record/perf_event.h"
#include "record/perf_ring.h"
#include "record/rights.h"

namespace gosym {

namespace {

// A process costs about 900 bytes from start to end, so this holds some 580 of them per CPU
// between two drains. It is also what a user without CAP_IPC_LOCK may lock
// (kernel.perf_event_mlock_kb is 516, the control page included).
constexpr size_t kRingSize = 512 * 1024;

UniqueFd open_event(uint32_t cpu) {
  perf_event_attr attr =
      timed_event({.name = "dummy", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY});
  tell_of_processes(attr);
  attr.ksymbol = 1;
  attr.cgroup = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = kRingSize / 2;
  return open_perf_event(attr, cpu);
}

}  // namespace

Sideband::~Sideband() = default;

Result<std::unique_ptr<Sideband>> Sideband::open() {
  std::unique_ptr<Sideband> sideband(new Sideband);
  sideband->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!sideband->epoll_)
    return system_error("cannot create an epoll descriptor", errno);
  std::vector<SidebandRecord> none;
  if (auto opened = sideband->follow_cpus(proc::online_cpus(), none); !opened)
    return std::move(opened).error();
  return sideband;
}

Result<> Sideband::follow_cpus(std::span<const uint32_t> cpus,
                               std::vector<SidebandRecord>& records) {
  for (auto& [number, cpu] : cpus_)
    if (cpu.ring && std::ranges::find(cpus, number) == cpus.end()) {
      drain(cpu, records);
      cpu.ring.reset();
    }
  for (uint32_t cpu : cpus)
    if (!cpus_[cpu].ring)
      if (auto opened = open_ring(cpu); !opened)
        return opened;
  return Ok{};
}

Result<> Sideband::open_ring(uint32_t cpu) {
  UniqueFd event = open_event(cpu);
  if (!event && errno == ENODEV)  // it has just gone offline
    return Ok{};
  if (!event)
    return denied_or_failed("cannot open an event for mappings", errno);
  auto ring = PerfRing::map(std::move(event), kRingSize);
  if (!ring)
    return std::move(ring).error();
  epoll_event interest{.events = EPOLLIN, .data = {}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, (*ring)->fd(), &interest) != 0)
    return system_error("cannot watch a perf event", errno);
  cpus_[cpu].ring = *std::move(ring);
  return Ok{};
}

Result<> Sideband::adopt(const UniqueFd& event, uint32_t cpu) {
  auto known = cpus_.find(cpu);
  if (known == cpus_.end() || !known->second.ring)
    return Ok{};
  if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, known->second.ring->fd()) != 0)
    return system_error("cannot let two events share a ring", errno);
  return Ok{};
}

Sideband::Counts Sideband::counts(uint32_t cpu) const {
  auto known = cpus_.find(cpu);
  return known == cpus_.end() ? Counts{} : known->second.counts;
}

void Sideband::drain(std::vector<SidebandRecord>& records) {
  for (auto& [number, cpu] : cpus_)
    if (cpu.ring)
      drain(cpu, records);
}

void Sideband::drain(CpuState& cpu, std::vector<SidebandRecord>& records) {
  take(cpu.ring->read(), cpu, records);
  cpu.ring->consume();
}

void Sideband::take(Bytes data, CpuState& cpu, std::vector<SidebandRecord>& records) {
  while (!data.empty()) {
    auto bytes = first_record(data);
    if (!bytes) {  // not a record: nothing behind it can be found either
      cpu.counts.lost++;
      return;
    }
    data = tail(data, bytes->size());
    auto record = parse_sideband_record(*bytes);
    if (!record)
      cpu.counts.lost++;
    else if (auto* lost = std::get_if<LostRecords>(&*record))
      cpu.counts.lost += lost->count;
    else if (auto* throttle = std::get_if<ThrottleRecord>(&*record))
      note(*throttle, cpu);
    else if (!std::holds_alternative<OtherRecord>(*record))
      records.push_back(*std::move(record));
  }
}

void Sideband::note(const ThrottleRecord& throttle, CpuState& cpu) {
  cpu.counts.throttled_ns += cpu.throttling.ended_by(throttle);
}

}  // namespace gosym
