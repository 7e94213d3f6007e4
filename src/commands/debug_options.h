#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "commands/command_line.h"
#include "images/debug_file.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// The options that say where binaries and their debug files are, as they were given.
struct DebugOptions {
  std::string symfs;
  std::vector<std::string> debug_dirs;
  std::optional<std::string> debuginfod;  // URLs of servers, or empty; none: not given
  bool no_debuginfod = false;
};

OptionGroup debug_options(DebugOptions& options);
Option symfs_option(std::string& symfs);

// Servers are asked if --debuginfod or DEBUGINFOD_URLS says so, and --no-debuginfod does not
// say no. Without URLS, --debuginfod takes those of DEBUGINFOD_URLS, else those that the
// system's packages put into /etc/debuginfod; it fails if there are none. Progress is shown on
// `stream` if that is a terminal; null: nowhere.
Result<DebugFileOptions> find_debug_files(const DebugOptions& options, std::FILE* stream);
// Debug files as above, and this machine's kernel, for a profile that may have been made by it,
// such as one of perf. It has to be asked for while the process has its rights.
Result<DebugFileOptions> find_files_of_profile(const DebugOptions& options, std::FILE* stream);

// The directories that these files are looked for in.
std::vector<std::string> roots_of(const DebugFileOptions& files);

// Tells the profile which package of this system would name the code of its stripped images.
// Files that a recording has kept may be of another system, and are passed over.
void find_debug_packages(Profile& profile, const HeldFiles& held);

}  // namespace gosym
