#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "commands/recordings.h"
#include "commands/report_options.h"
#include "exchange/input_kind.h"
#include "images/debug_file.h"
#include "profile/profile.h"
#include "profile/replay.h"
#include "raw/reader.h"
#include "symbolize/symbolizer.h"

namespace gosym {

struct NamedRecording {
  std::string name;  // of the file, "-" for standard input
  raw::Recording recording;
  // Paths of a file of perf, as perf_data::ReadFile has them.
  std::set<std::string> unchecked = {};
};

// A file that had a profile already: its samples are counted, and have names where it has them.
struct ReadProfile {
  std::string name;
  InputKind kind{};
  Profile profile;
};

// All of them are recordings, or none is.
struct Inputs {
  std::vector<NamedRecording> recordings = {};
  std::vector<ReadProfile> profiles = {};
  // Memory in bytes that all may take together, and what is left of it: raw::memory_budget() of
  // the size of recordings, and of profiles 256 MiB and for_profile() of each.
  uint64_t size = 0;
  uint64_t for_profiles = 0;
  uint64_t memory = 0;
  uint64_t memory_left() const;
};

// Reads recordings and files of perf, and of directories all files "*.raw" in them, as far as
// they are wanted (recordings.h), or files of profiles (exchange/input_kind.h). The one that
// began first comes first. Hosts of one name on several machines get names of their own.
// Fails, too, if a file is named twice, or a copy of it, if recordings are mixed with others,
// or if the event, or with an empty name any event, was not sampled at the same rate in all
// of them: its samples could not be added up. Of pages that compare one `side` is read; an
// error if others are asked for it.
Result<Inputs> read_inputs(const std::vector<std::string>& inputs,
                           const WantedRecordings& wanted, const std::string& event,
                           const DebugFileOptions& where, std::optional<Side> side = {});

// True for what a recording begins with, of gosym or of perf.
bool is_recording(std::string_view begin);

// The events of all of them.
std::vector<RecordedEvent> events_of(const Inputs& inputs);

// Recordings that have been read, and the profile of them all.
struct LoadedProfile {
  std::vector<NamedRecording> recordings;
  Profile profile;
  SymbolizerReport symbols;
  HeldFiles held;       // files that the recordings have kept
  TimeRange time = {};  // that was chosen, from the begin of the first
  // Share of the samples that was read, by size: less than 1 if not all were to be read
  // (most_samples).
  double share = 1;
};

// Changes of the stacks of a profile before it is shown.
struct StackPasses {
  bool leaves_out_idle = false;  // waits of idle threads of Go's runtime
  bool keeps_wrappers = false;   // that the compiler made
  bool names_creators = false;   // goroutines go on in who created them
  bool charges_collector = false;
  const Selection* selection = nullptr;  // none: the browser selects itself
};
// Makes these changes, in the order that they need. False: creators were asked for, and no
// sample has one.
bool apply(const StackPasses& passes, Profile& profile);

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
