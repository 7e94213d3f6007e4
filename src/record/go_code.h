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

// The Go code of the processes that are sampled, and how to find the callers of its functions.
//
// The files are mapped, not copied: of tables of tens of megabytes little is looked at. They
// are those of whoever's code is sampled, so what looking at them may take is limited, in time
// and by the sizes of files and functions; and once a part of a file was gone
// (base/cut_files.h) nothing is known of its code. Then whoever asks has to do without.
class GoCode {
public:
  GoCode();
  ~GoCode();

  // A process mapped code of a file, which is looked at while a process has it mapped. What was
  // mapped there before is gone.
  void map(const MapEvent& mapping, bool is_go, const UniqueFd& file);
  // The process executed another program, or ended.
  void forget(uint32_t pid);

  // How the caller of the function at an address is found; none for code that is not Go's, or
  // not known.
  std::optional<UnwindRule> rule(uint32_t pid, uint64_t address);

private:
  struct Program;
  struct Place {
    Mapping mapping;
    std::shared_ptr<Program> program;
  };
  std::shared_ptr<Program> program(ImageId image, const UniqueFd& file);

  std::unordered_map<uint32_t, std::vector<Place>> places_;  // by process
  std::map<ImageId, std::weak_ptr<Program>> programs_;
  TimeBudget budget_;
};

}  // namespace gosym
