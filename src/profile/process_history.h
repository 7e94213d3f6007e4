#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sequence_pool.h"
#include "model/recording.h"

namespace gosym {

// Ranges of addresses that are laid one over the other: finds which of the first `count` ranges
// is on top at an address.
//
// It is a segment tree over the ends of all ranges, whose nodes list the ranges that cover them
// whole. So any moment can be asked for, in O(log² n), without a copy for each moment; and no
// order of ranges makes it slow.
class RangeHistory {
public:
  struct Range {
    uint64_t start;
    uint64_t limit;  // first address after it
  };

  RangeHistory() = default;
  explicit RangeHistory(std::span<const Range> ranges);

  // The index of the range on top; none if none of the first `count` covers the address.
  std::optional<uint32_t> find(uint64_t address, uint32_t count) const;

private:
  size_t leaf_of(uint64_t bound) const;

  std::vector<uint64_t> bounds_;  // sorted; leaf i is [bounds_[i], bounds_[i + 1])
  // Node 1 is the root, node i has the children 2i and 2i + 1, leaf i is node size + i. The
  // lists are in ascending order.
  std::vector<std::vector<uint32_t>> nodes_;
};

// The mappings of a process at a moment: those with equal values are equal.
struct AddressSpace {
  static constexpr uint32_t kUnknown = UINT32_MAX;

  uint32_t program = kUnknown;
  uint32_t map_count = 0;  // how many of the program's mappings were there
  uint32_t told_code = 0;  // the version of its perf map, as LocationTable has it

  bool operator==(const AddressSpace&) const = default;
};

// Answers for any moment which mapping was at an address and which name a thread had, by the
// side-band events of all processes.
//
// A process runs a program from its fork or exec until the next one of the same process id. A
// fork has the mappings that its parent had at that moment, below its own; an exec has none.
// Later mappings hide earlier ones: the kernel does not tell when one goes away.
//
// Owns the events; views and pointers into them live as long as it.
class ProcessHistory {
public:
  explicit ProcessHistory(std::vector<Event> events);
  ProcessHistory(const ProcessHistory&) = delete;
  ProcessHistory& operator=(const ProcessHistory&) = delete;

  AddressSpace address_space(uint32_t pid, uint64_t time) const;
  // Null if nothing was mapped there.
  const MapEvent* find(AddressSpace space, uint64_t address) const;
  // The name of the thread; before it is known, that of its process; or empty.
  std::string_view comm(uint32_t pid, uint32_t tid, uint64_t time) const;
  // The name of the process's first thread, whether that still runs or not; empty: it is not
  // known.
  std::string_view process_name(uint32_t pid, uint64_t time) const;

private:
  struct Program {
    uint64_t begin = 0;
    AddressSpace parent;  // as of the fork
    std::vector<const MapEvent*> maps;
    RangeHistory ranges;  // of `maps`
  };
  struct Name {
    uint64_t time;
    std::string_view comm;
  };

  void apply(const MapEvent& event);
  void apply(const CommEvent& event);
  void apply(const ForkEvent& event);
  void apply(const ExitEvent&) {}
  void apply(const KernelCodeEvent&) {}
  void apply(const CgroupEvent&) {}
  void begin_program(uint32_t pid, uint64_t time, AddressSpace parent);
  AddressSpace current_space(uint32_t pid) const;
  std::string_view name_of(uint32_t tid, uint64_t time) const;

  std::vector<Event> events_;
  std::vector<Program> programs_;
  tsl::robin_map<uint32_t, std::vector<uint32_t>, BytesHash>
      programs_of_;                                                  // by pid, in order of time
  tsl::robin_map<uint32_t, std::vector<Name>, BytesHash> names_of_;  // by tid, in order of time
};

// The code that the kernel loaded during a recording, BPF programs as a rule, by address and
// time. Code that was there before is named by the kernel's list of symbols (proc/kallsyms.h),
// which was read once.
class KernelHistory {
public:
  // Takes what concerns the kernel from the events, in any order.
  explicit KernelHistory(std::span<const Event> events);

  // The number of changes up to that time.
  uint32_t count_at(uint64_t time) const;

  // The name of what lies there after so many changes; empty if nothing new does. It lives as
  // long as this.
  std::string_view find(uint64_t address, uint32_t count) const;

private:
  std::vector<KernelCodeEvent> events_;  // in order of time
  RangeHistory ranges_;                  // of events_: what was removed hides what was there
};

}  // namespace gosym
