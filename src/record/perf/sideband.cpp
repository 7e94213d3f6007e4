#include "record/perf/sideband.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "proc/process.h"
#include "record/keeper.h"
#include "record/perf/perf_ring.h"
#include "record/rights.h"

namespace gosym {

namespace {

// A process costs about 900 bytes from start to end, so this holds some 580 of them per CPU
// between two drains. It is also what a user without CAP_IPC_LOCK may lock
// (kernel.perf_event_mlock_kb is 516, the control page included).
constexpr size_t kRingSize = 512 * 1024;

// For what the kernel tells of its own code and of cgroups only.
constexpr size_t kSystemRingSize = 128 * 1024;

perf_event_attr silent_event() {
  return timed_event(
      {.name = "dummy", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY});
}

perf_event_attr event_of_system(bool is_for_all) {
  perf_event_attr attr = silent_event();
  if (is_for_all)
    tell_of_processes(attr);
  attr.ksymbol = 1;
  attr.cgroup = 1;
  return attr;
}

// Opens an event for what runs in the cgroup on a CPU.
UniqueFd open_event_of_cgroup(uint32_t cpu, const UniqueFd& directory) {
  perf_event_attr attr = silent_event();
  tell_of_processes(attr);
  return open_perf_event(attr, cpu, directory.get(), PERF_FLAG_PID_CGROUP);
}

perf_event_attr event_of_thread() {
  perf_event_attr attr = silent_event();
  tell_of_processes(attr);
  attr.inherit = 1;
  return attr;
}

Result<std::unique_ptr<PerfRing>> map_ring(UniqueFd event, size_t size) {
  if (!event)
    return denied_or_failed("cannot open an event for mappings", errno);
  return PerfRing::map(std::move(event), size);
}

}  // namespace

// Tells the keeper of the events that are opened after it has started, besides those that are
// opened now: of a CPU that comes later, and of threads that are to be followed later.
Sideband::Sideband(Keeper& keeper, bool is_for_all) : keeper_(keeper), is_for_all_(is_for_all) {
  keeper_.keep_event(event_of_system(/*is_for_all=*/true));
  keeper_.keep_event(event_of_thread());
}
Sideband::~Sideband() = default;

Result<std::unique_ptr<Sideband>> Sideband::open(Keeper& keeper, bool is_for_all) {
  std::unique_ptr<Sideband> sideband(new Sideband(keeper, is_for_all));
  for (uint32_t cpu : proc::online_cpus())
    if (auto opened = sideband->open_rings(cpu, is_for_all); !opened)
      return std::move(opened).error();
  return sideband;
}

Result<std::unique_ptr<Sideband>> Sideband::open_for_all(Keeper& keeper) {
  return open(keeper, true);
}

Result<std::unique_ptr<Sideband>> Sideband::open_for(Keeper& keeper,
                                                     std::span<const uint32_t> pids) {
  size_t thread_count = 0;
  for (uint32_t pid : pids)
    thread_count += proc::thread_ids(pid).size();
  auto sideband = open(keeper, /*is_for_all=*/false);
  // Events of everything are more to read, but nothing is missing in them.
  if (!sideband || !(*sideband)->has_room_for(thread_count))
    return open_for_all(keeper);
  for (uint32_t pid : pids)
    (*sideband)->follow(pid);
  return sideband;
}

Result<std::unique_ptr<Sideband>> Sideband::open_for_cgroups(
    Keeper& keeper, std::span<const std::string> paths) {
  auto sideband = open(keeper, /*is_for_all=*/false);
  if (!sideband)
    return open_for_all(keeper);
  (*sideband)->is_for_cgroups_ = true;
  for (const std::string& path : paths)
    if (!(*sideband)->follow_cgroup(path))
      return open_for_all(keeper);
  return sideband;
}

// On all CPUs, or the account would not be whole.
bool Sideband::follow_cgroup(const std::string& path) {
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory && has_room_for(1) && std::ranges::all_of(cpus_, [&](const auto& entry) {
           const auto& [number, cpu] = entry;
           return !cpu.targets || add_target(open_event_of_cgroup(number, directory), cpu);
         });
}

bool Sideband::add_target(UniqueFd event, const CpuState& cpu) {
  if (!event || ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, cpu.targets->fd()) != 0)
    return false;
  events_.push_back(std::move(event));
  return true;
}

// Half of the descriptors, for others have a use for them too. Threads that begin from now on
// cost none.
bool Sideband::has_room_for(size_t thread_count) const {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         events_.size() + cpus_.size() * thread_count <= limit.rlim_cur / 2;
}

// A CPU that comes later has no events of threads that are there by now; so its event is of all
// processes.
Result<> Sideband::follow_cpus(std::span<const uint32_t> cpus,
                               std::vector<SidebandRecord>& records) {
  // Its indices are those of the list that was drained into last.
  last_names_.clear();
  // A CPU that has gone leaves its records in the ring: they are read before that is unmapped.
  for (auto& [number, cpu] : cpus_)
    if (cpu.ring && std::ranges::find(cpus, number) == cpus.end()) {
      drain_cpu(cpu, records);
      cpu.ring.reset();
      cpu.targets.reset();
    }
  for (uint32_t cpu : cpus)
    if (!cpus_[cpu].ring)
      if (auto opened = open_rings(cpu, /*is_for_all=*/true); !opened)
        return opened;
  return Ok{};
}

Result<> Sideband::open_rings(uint32_t cpu, bool is_for_all) {
  UniqueFd event = keeper_.open_event(event_of_system(is_for_all), cpu);
  if (!event && errno == ENODEV)  // it has just gone offline
    return Ok{};
  auto ring = map_ring(std::move(event), is_for_all ? kRingSize : kSystemRingSize);
  if (!ring)
    return std::move(ring).error();
  cpus_[cpu].ring = *std::move(ring);
  if (is_for_all)
    return Ok{};
  // Its own event tells nothing; those of threads share the ring.
  auto targets = map_ring(keeper_.open_event(silent_event(), cpu), kRingSize);
  if (!targets)
    return std::move(targets).error();
  cpus_[cpu].targets = *std::move(targets);
  return Ok{};
}

// Threads that begin meanwhile either inherit the events of the one that made them, or are
// there the next time.
bool Sideband::follow(uint32_t pid) {
  // Events of all processes, or of cgroups, outlive an exec of more rights: an exit that they
  // tell of is one.
  if (is_for_all_ || is_for_cgroups_)
    return false;
  bool is_there = false;
  bool has_new = true;
  while (std::exchange(has_new, false)) {
    std::vector<uint32_t> tids = proc::thread_ids(pid);
    drain(early_);
    // The list of threads is read before the rings: a thread that is in neither begins later
    // than both, and its parent has the event by then.
    for (uint32_t tid : tids)
      if (!threads_.contains(tid) && !has_inherited(tid) && follow_thread(tid))
        has_new = is_there = true;
  }
  return is_there;
}

// A thread whose beginning is among the records that were read meanwhile was made by one that
// had the event.
bool Sideband::has_inherited(uint32_t tid) const {
  return std::ranges::any_of(early_, [tid](const SidebandRecord& record) {
    const auto* fork = std::get_if<ForkEvent>(&record);
    return fork && fork->tid == tid;
  });
}

// The thread is not followed on a CPU where its event cannot be opened, and what is missing is
// found when its process has samples. A CPU without `targets` tells of all processes anyway.
bool Sideband::follow_thread(uint32_t tid) {
  if (!has_room_for(1))
    return false;
  bool is_followed = false;
  for (const auto& [number, cpu] : cpus_)
    if (cpu.targets)
      is_followed |= add_target(
          keeper_.open_event(event_of_thread(), number, static_cast<pid_t>(tid)), cpu);
  if (is_followed)
    threads_.insert(tid);
  return is_followed;
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

uint64_t Sideband::lost_count() const {
  uint64_t lost = 0;
  for (const auto& [number, cpu] : cpus_)
    lost += cpu.counts.lost;
  return lost;
}

void Sideband::drain(std::vector<SidebandRecord>& records) {
  if (&records != &early_)
    // Records that were read while threads were looked for come first, as they are older.
    std::ranges::move(std::exchange(early_, {}), std::back_inserter(records));
  last_names_.clear();
  for (auto& [number, cpu] : cpus_)
    if (cpu.ring)
      drain_cpu(cpu, records);
}

void Sideband::drain_cpu(CpuState& cpu, std::vector<SidebandRecord>& records) {
  drain_ring(*cpu.ring, cpu, records);
  if (cpu.targets)
    drain_ring(*cpu.targets, cpu, records);
}

void Sideband::drain_ring(PerfRing& ring, CpuState& cpu, std::vector<SidebandRecord>& records) {
  ring.read();
  while (auto record = ring.next())
    take(*record, cpu, records);
  if (!ring.is_at_end())  // not a record: nothing behind it can be found either
    cpu.counts.lost++;
  ring.consume();
}

void Sideband::take(Bytes data, CpuState& cpu, std::vector<SidebandRecord>& records) {
  // Mappings are refused by their header, before they are parsed: most that are refused are of
  // a loop of mmap, and come by the hundred thousand.
  auto owner = owner_of_mapping(data);
  if (owner && !limits_.admit_mapping(owner->pid, owner->time))
    return;
  if (auto name = thread_name_in(data); name && is_passed_over(*name, records))
    return;
  auto record = parse_sideband_record(data);
  if (!record)
    cpu.counts.lost++;
  else if (auto* lost = std::get_if<LostRecords>(&*record))
    cpu.counts.lost += lost->count;
  else if (auto* throttle = std::get_if<ThrottleRecord>(&*record))
    note(*throttle, cpu);
  else if (!std::holds_alternative<OtherRecord>(*record))
    add(*std::move(record), records);
}

void Sideband::add(SidebandRecord record, std::vector<SidebandRecord>& records) {
  if (const auto* comm = std::get_if<CommEvent>(&record)) {
    if (comm->is_exec) {
      limits_.exec(comm->pid);
      // The name by an exec must stay: it is that of another program.
      last_names_.erase(comm->tid);
    } else {
      last_names_.insert_or_assign(comm->tid, records.size());
    }
  }
  if (const auto* fork = std::get_if<ForkEvent>(&record); fork && fork->pid != fork->parent_pid)
    limits_.fork(fork->parent_pid, fork->pid);
  if (const auto* exit = std::get_if<ExitEvent>(&record)) {
    // The kernel may give the number of a thread that has ended to another, which is to be
    // followed then.
    threads_.erase(exit->tid);
    if (exit->tid == exit->pid)
      limits_.forget(exit->pid);
  }
  records.push_back(std::move(record));
}

// Joins names that come shortly after one another: a thread may name itself a million times a
// second. The rings of the CPUs are read one after the other, so a name may be older than the
// last one.
bool Sideband::is_passed_over(const ThreadName& name, std::vector<SidebandRecord>& records) {
  auto known = last_names_.find(name.tid);
  if (known == last_names_.end())
    return false;
  // There is a name at the index, as add() has noted it for this list.
  auto& last = std::get<CommEvent>(records[known->second]);
  bool is_older = name.time < last.time;  // of another CPU
  uint64_t distance = is_older ? last.time - name.time : name.time - last.time;
  if (distance >= kShortNameTime)
    return false;
  if (!is_older)
    last.comm = name.comm;
  return true;
}

void Sideband::note(const ThrottleRecord& throttle, CpuState& cpu) {
  cpu.counts.throttled_ns += cpu.throttling.ended_by(throttle);
}

}  // namespace gosym
