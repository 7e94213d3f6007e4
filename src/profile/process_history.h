#pragma once

#include <tsl/robin_map.h>

#include <optional>
#include <string_view>
#include <vector>

#include "base/sequence_pool.h"
#include "model/recording.h"
#include "profile/range_history.h"

namespace gosym {

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

}  // namespace gosym
