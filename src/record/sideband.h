#pragma once

#include <memory>
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

  // Events the kernel had no room for, or that could not be read.
  uint64_t lost() const { return lost_; }

private:
  Sideband() = default;
  Result<> open_ring(int cpu);
  void take(Bytes data, std::vector<SidebandRecord>& records);

  UniqueFd epoll_;
  std::vector<std::unique_ptr<PerfRing>> rings_;
  uint64_t lost_ = 0;
};

}  // namespace gosym
