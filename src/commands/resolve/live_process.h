#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "commands/resolve/resolve.h"
#include "profile/profile.h"
#include "record/files/file_helper.h"
#include "symbolize/symbol_cache.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// Names the code of a running process. To ask is to record one moment of it and to report that
// at once, so that an address has the name here that it would have in a profile. Of the files
// that it runs those are read that it has mapped, whatever lies at their paths.
class LiveProcess {
public:
  // Fails if it does not run. What takes rights is opened here, or by helpers.
  static Result<LiveProcess> open(uint32_t pid);

  // Answers for these runtime addresses as of now, in this order; those of the upper half are
  // of the kernel. The answers borrow from this object until it is asked again. Fails if the
  // process may not be looked into, or has ended.
  Result<std::vector<Answer>> ask(std::span<const uint64_t> addresses,
                                  const DebugFileOptions& files);

  // Problems with files at the last question, by their paths.
  const std::map<std::string, std::string>& problems() const { return problems_; }

  // A recording of what concerns the addresses.
  struct Moment {
    uint64_t time = monotonic_ns();
    std::vector<RecordedImage> images;
    std::vector<Event> events;
    std::vector<RecordedPerfMap> perf_maps;
    std::map<ImageId, UniqueFd> files;  // held open
  };

private:
  LiveProcess(uint32_t pid, UniqueFd process);
  Result<Moment> record(std::span<const uint64_t> addresses) const;
  Answer answer(const Location& location) const;

  uint32_t pid_;
  UniqueFd process_;  // readable once it has ended
  std::unique_ptr<FileHelper> helper_;
  std::string vdso_;
  UniqueFd kallsyms_;
  std::optional<std::string> kernel_symbols_;  // once one is wanted

  Profile profile_;
  std::map<std::string, std::string> problems_;
};

}  // namespace gosym
