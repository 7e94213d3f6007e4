#include "record/sideband.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <ctime>

#include "record/perf_ring.h"
#include "record/rights.h"

namespace gosym {

namespace {

// A process costs about 900 bytes from start to end, so this holds some 580 of them per CPU
// between two drains. It is also what a user without CAP_IPC_LOCK may lock
// (kernel.perf_event_mlock_kb is 516, the control page included).
constexpr size_t kRingSize = 512 * 1024;

UniqueFd open_event(int cpu) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.sample_id_all = 1;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.ksymbol = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = kRingSize / 2;
  return UniqueFd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

Sideband::~Sideband() = default;

Result<std::unique_ptr<Sideband>> Sideband::open() {
  std::unique_ptr<Sideband> sideband(new Sideband);
  sideband->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!sideband->epoll_)
    return system_error("cannot create an epoll descriptor", errno);
  for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
    if (auto opened = sideband->open_ring(cpu); !opened)
      return std::move(opened).error();
  return sideband;
}

Result<> Sideband::open_ring(int cpu) {
  UniqueFd event = open_event(cpu);
  if (!event && errno == ENODEV)  // the CPU is offline
    return Ok{};
  if (!event)
    return denied_or_failed("cannot open an event for mappings", errno);
  auto ring = PerfRing::map(std::move(event), kRingSize);
  if (!ring)
    return std::move(ring).error();
  epoll_event interest{.events = EPOLLIN, .data = {}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, (*ring)->fd(), &interest) != 0)
    return system_error("cannot watch a perf event", errno);
  rings_.push_back(*std::move(ring));
  return Ok{};
}

void Sideband::drain(std::vector<SidebandRecord>& records) {
  for (auto& ring : rings_) {
    take(ring->read(), records);
    ring->consume();
  }
}

void Sideband::take(Bytes data, std::vector<SidebandRecord>& records) {
  while (!data.empty()) {
    auto bytes = first_record(data);
    if (!bytes) {  // not a record: nothing behind it can be found either
      lost_++;
      return;
    }
    data = tail(data, bytes->size());
    auto record = parse_sideband_record(*bytes);
    if (!record)
      lost_++;
    else if (auto* lost = std::get_if<LostRecords>(&*record))
      lost_ += lost->count;
    else if (!std::holds_alternative<OtherRecord>(*record))
      records.push_back(*std::move(record));
  }
}

}  // namespace gosym
