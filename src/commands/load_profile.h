#pragma once

#include "commands/read_inputs.h"
#include "commands/report_options.h"
#include "profile/profile.h"
#include "profile/replay.h"
#include "symbolize/recorded_file.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// Recordings that have been read, and the profile of them all.
struct LoadedProfile {
  std::vector<NamedRecording> recordings;
  Profile profile;
  SymbolizerReport symbols;
  HeldFiles held;  // files that the recordings have kept
  // Share of the samples that was read, by size: less than 1 if not all were to be read
  // (most_samples).
  double share = 1;
};

// Reads the recordings, looks for the callers of their stacks, names them, and drops what the
// options leave out. Fails, too, if no sample is left. Says on standard error what is damaged.
Result<LoadedProfile> load_profile(const ReportOptions& options, const Format& format,
                                   const DebugFileOptions& files);

// Attributes (thread, CPU, time step, ...) that this view needs kept separate where stacks are
// equal. `duration` is in ns.
GroupBy group_by_of(const ViewOptions& view, uint64_t duration);
// The attributes that the browser can choose by.
GroupBy group_by_for_browser(uint64_t duration);

}  // namespace gosym
