#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/result.h"
#include "commands/command_line.h"
#include "record/files/archive.h"
#include "record/recording_directory.h"
#include "record/sampler.h"
#include "record/trigger.h"

namespace gosym {

inline constexpr const char* kDefaultOutput = "cpu.raw";

// The command line of `gosym record`, as it was given.
struct RecordOptions {
  std::vector<std::string> processes;  // by number or by name
  std::vector<std::string> comms;      // by name
  std::string user;
  std::vector<uint32_t> tids;
  std::vector<std::string> cgroups;
  std::vector<std::string> command;
  bool is_system_wide = false;
  std::string cpus;
  std::vector<std::string> events;
  std::string frequency = {};  // empty: the default
  std::string period;
  std::optional<std::string> off_cpu;  // the threshold; empty: the default
  std::optional<std::string> wall;  // looks a second; empty: the default; none: not asked for
  std::string duration;
  std::string max_size;
  double max_loss = 100;  // percent of the samples
  std::string rotate;     // empty: into one file
  std::string keep;
  std::string last;                      // empty: it is no flight recorder
  std::vector<std::string> when;         // what it waits for
  std::string metrics;                   // a file; empty: none
  std::optional<std::string> host_root;  // none: it is looked for
  std::string call_graph = "auto";
  ArchiveMode archive = ArchiveMode::kAuto;
  ArchivedData archived_data = ArchivedData::kKept;
  SamplerKind sampler = SamplerKind::kAuto;
  std::string output = kDefaultOutput;
  bool has_output = false;       // it was named
  std::optional<uint32_t> runs;  // of the command, each with a recording of its own
  bool is_user_only = false;
  bool is_kernel_only = false;
  bool leaves_children = false;
  bool is_verbose = false;
  bool is_quiet = false;
  bool is_terminal_taken = false;  // so that a command has none

  bool has_processes() const {
    return !processes.empty() || !comms.empty() || !tids.empty() || !cgroups.empty() ||
           !user.empty();
  }
  // The command is not what is recorded: its end is that of the recording.
  bool has_stop_watch() const {
    return !command.empty() && (has_processes() || is_system_wide);
  }
};

// RecordOptions, parsed.
struct RecordPlan {
  SamplerOptions sampler;    // its scope is without the processes of a command
  uint64_t duration_ns = 0;  // 0: no limit
  uint64_t max_size = 0;     // likewise
  double max_loss = 100;     // percent of the samples
  uint64_t rotate_ns = 0;    // 0: into one file
  uint64_t last_ns = 0;      // of a flight recorder; 0: it is none
  std::vector<Trigger> when;
  Retention keep;               // of a directory
  uint64_t wall_frequency = 0;  // looks a second at goroutines; 0: none
  bool is_wall_only = false;    // nothing else is sampled
  ArchiveChoice archive;
};

// An error is one of usage. What the kernel allows no more of is taken as far as it does, and
// said.
Result<RecordPlan> make_plan(const RecordOptions& options);

std::vector<OptionGroup> record_options(RecordOptions& options);

// Options of these that other commands which record have.
OptionGroup target_options(RecordOptions& options);
OptionGroup sampling_options(RecordOptions& options);
Option duration_option(RecordOptions& options);
Option archive_option(RecordOptions& options);
Option archive_data_option(ArchivedData& data);

}  // namespace gosym
