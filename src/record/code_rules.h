#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "base/unwind_rule.h"
#include "profile/profile.h"
#include "record/time_budget.h"

namespace gosym {

// The code of the processes that are sampled, and how to find the callers of its functions:
// those of Go by the tables of the program, others by what .eh_frame_hdr has.
//
// The files are mapped, not copied: of tables of tens of megabytes little is looked at. They
// are those of whoever's code is sampled, so what looking at them may take is limited, in time
// and by the sizes of files and functions; and once a part of a file was gone
// (base/cut_files.h) nothing is known of its code. Then whoever asks has to do without.
class CodeRules {
public:
  CodeRules();
  ~CodeRules();

  // A process mapped code of a file, which is looked at while a process has it mapped. What was
  // mapped there before is gone.
  void map(const MapEvent& mapping, bool is_go, const UniqueFd& file);
  void fork(uint32_t parent, uint32_t child);
  // The process executed another program, or ended.
  void forget(uint32_t pid);

  // How the caller of the function at an address is found; none for code that is not known.
  std::optional<UnwindRule> rule(uint32_t pid, uint64_t address);
  // The same of Go's code; none for all other.
  std::optional<UnwindRule> go_rule(uint32_t pid, uint64_t address);

  // As dwarf::CallFrames has them.
  std::optional<CallerFrame> evaluate(uint32_t pid, uint64_t address, MachineState& state);
  CallerRegister caller_register(uint32_t pid, uint64_t address, uint64_t number, uint64_t cfa,
                                 MachineState& state);

private:
  struct Program;
  struct Place {
    Mapping mapping;
    std::shared_ptr<Program> program;
  };
  struct Found {
    Program& program;
    ImageAddress address;
  };
  std::shared_ptr<Program> program(ImageId image, bool is_go, const UniqueFd& file);
  TimeBudget& budget_of(const Program& program);
  std::optional<Found> find(uint32_t pid, uint64_t address);

  std::unordered_map<uint32_t, std::vector<Place>> places_;  // by process, by address
  std::map<ImageId, std::weak_ptr<Program>> programs_;
  // Goroutines need theirs in each sample.
  TimeBudget go_budget_;
  TimeBudget native_budget_;
};

}  // namespace gosym
