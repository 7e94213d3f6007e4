#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/event_limits.h"
#include "record/sideband_record.h"

namespace gosym {

class Keeper;
class PerfRing;

// The kernel's own account of what is mapped, named, forked, executed and ended, on the clock
// of the samples. It begins when open() returns.
//
// For all processes there is an event on each CPU. For some processes there is one for each of
// their threads on each CPU, which threads and children inherit: events of other processes,
// which can fill any ring, do not come near theirs. For cgroups there is one for each of them.
// Events that belong to no process, code of the kernel and new cgroups, are told by an event
// for everything, which has a ring of its own then.
//
// Nobody is woken for it: who makes events as fast as he can would keep the reader at work. To
// be drained every 50 ms or so.
class Sideband {
public:
  static Result<std::unique_ptr<Sideband>> open_for_all(Keeper& keeper);
  // Follows these processes, with all their threads. If descriptors do not suffice for an event
  // for each, it follows all processes.
  static Result<std::unique_ptr<Sideband>> open_for(Keeper& keeper,
                                                    std::span<const uint32_t> pids);
  // Follows what runs in these directories of cgroup v2, and below them; all processes where
  // the kernel has no such events: with cgroup v1 for perf_event.
  static Result<std::unique_ptr<Sideband>> open_for_cgroups(Keeper& keeper,
                                                            std::span<const std::string> paths);
  ~Sideband();

  bool is_for_all() const { return is_for_all_; }

  // Follows the threads of a process that are not followed, or no longer: the kernel ends the
  // events of a thread that executes a program of more rights than its user's. False if there
  // are none: the process is gone, or the events are not of single threads.
  bool follow(uint32_t pid);

  // Appends what happened, in order of time on each CPU but not across them. Of the names that
  // a thread has for less than kShortNameTime only the last is told, from the beginning of the
  // first, and of mappings what EventLimits admits.
  void drain(std::vector<SidebandRecord>& records);

  // From now on the account is of these CPUs; what happened on others and was not yet drained
  // is appended.
  Result<> follow_cpus(std::span<const uint32_t> cpus, std::vector<SidebandRecord>& records);

  // Sends what the kernel reports of this event on a CPU to the ring of that CPU.
  Result<> adopt(const UniqueFd& event, uint32_t cpu);

  // Events the kernel had no room for, or that could not be read; and the time that it took no
  // samples.
  struct Counts {
    uint64_t lost = 0;
    uint64_t throttled_ns = 0;
  };
  Counts counts(uint32_t cpu) const;
  uint64_t lost_count() const;  // sum over all CPUs
  EventLimits& limits() { return limits_; }

private:
  struct CpuState {
    std::unique_ptr<PerfRing> ring;     // null while the CPU is offline
    std::unique_ptr<PerfRing> targets;  // null where the first is of all processes
    Counts counts;
    Throttling throttling;
  };
  Sideband(Keeper& keeper, bool is_for_all);
  static Result<std::unique_ptr<Sideband>> open(Keeper& keeper, bool is_for_all);
  Result<> open_rings(uint32_t cpu, bool is_for_all);
  bool has_room_for(size_t thread_count) const;
  bool has_inherited(uint32_t tid) const;
  bool follow_thread(uint32_t tid);
  bool follow_cgroup(const std::string& path);
  bool add_target(UniqueFd event, const CpuState& cpu);
  void drain_cpu(CpuState& cpu, std::vector<SidebandRecord>& records);
  void drain_ring(PerfRing& ring, CpuState& cpu, std::vector<SidebandRecord>& records);
  void take(Bytes data, CpuState& cpu, std::vector<SidebandRecord>& records);
  void add(SidebandRecord record, std::vector<SidebandRecord>& records);
  bool is_passed_over(const ThreadName& name, std::vector<SidebandRecord>& records);
  static void note(const ThrottleRecord& throttle, CpuState& cpu);

  Keeper& keeper_;
  bool is_for_all_;
  bool is_for_cgroups_ = false;
  std::map<uint32_t, CpuState> cpus_;
  std::set<uint32_t> threads_;  // threads whose events were opened for them and not inherited
  // Theirs. To close one would end those of the threads and children that inherited it.
  std::vector<UniqueFd> events_;
  std::vector<SidebandRecord> early_;  // drained while threads were looked for
  EventLimits limits_;
  // Index, among the records drained now, of the last name of each thread.
  std::unordered_map<uint32_t, size_t> last_names_;
};

}  // namespace gosym
