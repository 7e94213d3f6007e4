#pragma once

#include "browser/session.h"
#include "commands/report_options.h"

namespace gosym {

// Whether `gosym report` can open the browser: standard input and output are a terminal that
// can move its cursor.
bool has_browser_terminal();

// What the browser begins with, as the options say.
browser::State initial_state(const ReportOptions& options);

// Writes a profile beside the working directory's other files, as "gosym-3.folded".
Result<std::string> export_profile(const Profile& profile, const std::string& format);

// Shows a recording in the browser; gives the exit status.
Result<int> browse_recording(const ReportOptions& options, DebugFileOptions files);

}  // namespace gosym
