#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/recording.h"

namespace gosym {

// State at a moment, as the events up to then tell it: mappings of processes and names of their
// threads, code of the kernel's own, cgroups.
// Events may come late, but each is of the time that it bears.
//
// A child's own mappings include what it has from its parent: so the recorder tells them.
class PastState {
public:
  void apply(Event event);

  // Processes for which this holds are forgotten.
  void forget(const std::function<bool(uint32_t pid)>& is_over);

  // Appends the state as events: of these processes, and of none.
  void append_to(std::vector<Event>& events, const std::set<uint32_t>& pids) const;
  // Appends the state of one process alone.
  void append_process(uint32_t pid, std::vector<Event>& events) const;

  // Forgets the cgroups that the machine has no more, if there are many, but for those that are
  // needed.
  void forget_gone_cgroups(const std::function<bool(uint64_t id)>& is_needed);

  size_t process_count() const { return processes_.size(); }

private:
  struct Process {
    uint64_t begin = 0;                   // of the program that it runs, or of itself
    std::vector<MapEvent> maps;           // by time
    std::map<uint32_t, CommEvent> names;  // by thread
  };

  void add(MapEvent event);
  void add(CommEvent event);
  void add(const ForkEvent& event);
  void add(const ExitEvent& event);
  void add(KernelCodeEvent event);
  void add(CgroupEvent event);

  std::map<uint32_t, Process> processes_;
  std::map<uint64_t, KernelCodeEvent> kernel_code_;  // by address
  std::map<uint64_t, CgroupEvent> cgroups_;
};

}  // namespace gosym
