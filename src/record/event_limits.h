#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>

namespace gosym {

// Limits the mappings that are looked at of each process: a thousand at once, as a program with
// as many libraries makes, and then a hundred a second. A loop of mmap or mprotect makes half a
// million, of which none tells more than /proc does.
//
// Children go on with what their parent has left, so that it is no help to fork.
class EventLimits {
public:
  // True if a mapping that a process made at `time` (ns) is to be looked at. Otherwise the
  // process is among take_refused().
  bool admit_mapping(uint32_t pid, uint64_t time);

  void fork(uint32_t parent_pid, uint32_t pid);
  // It runs another program, which has a few hundred at least.
  void exec(uint32_t pid);
  void forget(uint32_t pid) { processes_.erase(pid); }

  // Processes of whose mappings some were not looked at since the last call.
  std::set<uint32_t> take_refused();
  uint64_t refused_count() const { return refused_count_; }

private:
  struct Allowance {
    double left;
    uint64_t time = 0;  // when that was so
  };
  Allowance& of(uint32_t pid);

  std::unordered_map<uint32_t, Allowance> processes_;
  std::set<uint32_t> refused_;
  uint64_t refused_count_ = 0;
};

}  // namespace gosym
