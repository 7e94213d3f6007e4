#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/sideband_record.h"

namespace gosym {

class PerfRing;

// The kernel's own account of what is mapped, named, forked, executed and ended, from all
// processes, on the clock of the samples. It begins when open() returns.
class Sideband {
public:
  static Result<std::unique_ptr<Sideband>> open();
  ~Sideband();

  // Readable when a ring is half full; drain() makes it unreadable.
  int poll_fd() const { return epoll_.get(); }

  // Appends what happened, in order of time on each CPU but not across them.
  void drain(std::vector<SidebandRecord>& records);

  // From now on the account is of these CPUs; what happened on others and was not yet drained
  // is appended.
  Result<> follow_cpus(std::span<const uint32_t> cpus, std::vector<SidebandRecord>& records);

  // What the kernel has to say of this event on a CPU, goes to the ring of that CPU.
  Result<> adopt(const UniqueFd& event, uint32_t cpu);

  // Events the kernel had no room for, or that could not be read; and the time that it took no
  // samples.
  struct Counts {
    uint64_t lost = 0;
    uint64_t throttled_ns = 0;
  };
  Counts counts(uint32_t cpu) const;

private:
  struct CpuState {
    std::unique_ptr<PerfRing> ring;  // null while the CPU is offline
    Counts counts;
    Throttling throttling;
  };

  Sideband() = default;
  Result<> open_ring(uint32_t cpu);
  void drain(CpuState& cpu, std::vector<SidebandRecord>& records);
  static void take(Bytes data, CpuState& cpu, std::vector<SidebandRecord>& records);
  static void note(const ThrottleRecord& throttle, CpuState& cpu);

  UniqueFd epoll_;
  std::map<uint32_t, CpuState> cpus_;
};

}  // namespace gosym
