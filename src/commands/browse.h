#pragma once

#include "browser/session.h"
#include "commands/report_options.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// Tells if `gosym report` can open the browser: standard input and output are a terminal that
// can move its cursor. If its type is not known that is told, and text is printed.
enum class BrowserTerminal : uint8_t { kNone, kUnknown, kFound };
BrowserTerminal browser_terminal();
void tell_unknown_terminal();

// True if the browser can begin with this view. For --callers and the like text is the answer.
bool is_browsed(View view);

// State that the browser begins with, as the options say.
browser::State initial_state(std::string_view title, const ViewOptions& view,
                             const Selection& selection);

// The code of a function, as `gosym annotate` finds it. `held` are files that the recording has
// kept. Source files are looked for below the directory first, unless that is empty.
browser::Code find_sampled_code(const Profile& profile, std::span<const SampleCount> samples,
                                const ChosenKey& function, const DebugFileOptions& files,
                                const HeldFiles& held = {},
                                const std::string& source_directory = {});

// The first name in the working directory that is free: "gosym-2.folded".
std::string free_file_name(std::string_view extension);

// Writes a profile to a file of such a name, which is told.
Result<std::string> export_profile(const Profile& profile, const std::string& format);

// Shows a recording in the browser; gives the exit status.
Result<int> browse_recording(const ReportOptions& options, DebugFileOptions files);

}  // namespace gosym
