#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "model/recording.h"
#include "model/unwind_rule.h"
#include "record/stacks/time_budget.h"

namespace gosym {

// The code that sampled processes have mapped, and how to find the callers of its functions:
// those of Go by the tables of the program, others by what .eh_frame_hdr has.
//
// The files are mapped, not copied: of tables of tens of megabytes little is looked at. They
// are those of whoever's code is sampled, so what looking at them may take is limited, in time
// and by the sizes of files and functions; and once a part of a file was gone
// (base/sigbus_handler.h) nothing is known of its code. Then whoever asks has to do without.
class CodeRules {
public:
  CodeRules();
  ~CodeRules();

  struct Program;
  struct Place {
    uint64_t start = 0;
    uint64_t limit = 0;  // first address after it
    uint64_t file_offset = 0;
    std::shared_ptr<Program> program;
  };
  // The code that one process has mapped, by address. A program lives as long as a place of it.
  using Places = std::vector<Place>;

  // The process mapped code of a file, which is looked at while a process has it mapped. What
  // was mapped there before is gone, and as a whole if only a part of it was covered: the rules
  // of the rest are not known any more, and its words are all kept.
  void map(Places& places, const MapEvent& mapping, bool is_go, const UniqueFd& file);

  // The rule that finds the caller of the function at an address; none for code that is not
  // known.
  std::optional<UnwindRule> rule(const Places& places, uint64_t address);
  // Likewise for Go's code only; none for all other.
  std::optional<UnwindRule> go_rule(const Places& places, uint64_t address);

  // Gives back the memory of files that have been looked at; what they said is remembered.
  void forget_pages() const;

  // See dwarf::CallFrames for both.
  std::optional<CallerFrame> evaluate(const Places& places, uint64_t address,
                                      MachineState& state);
  CallerRegister caller_register(const Places& places, uint64_t address, uint64_t number,
                                 uint64_t cfa, MachineState& state);

private:
  struct Found {
    Program& program;
    ImageAddress address;
  };
  std::shared_ptr<Program> program(ImageId image, bool is_go, const UniqueFd& file);
  TimeBudget& budget_of(const Program& program);
  std::optional<Found> find(const Places& places, uint64_t address);

  std::map<ImageId, std::weak_ptr<Program>> programs_;
  // Goroutines need theirs in each sample.
  TimeBudget go_budget_;
  TimeBudget native_budget_;
};

}  // namespace gosym
