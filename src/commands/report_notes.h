#pragma once

#include "base/result.h"
#include "commands/report_options.h"
#include "profile/profile.h"
#include "raw/reader.h"
#include "symbolize/symbolizer.h"

// What `gosym report` says beside the report, on standard error.

namespace gosym {

// Nothing of the recording is missing.
// The input as messages name it.
std::string name_of(const std::string& input);

bool is_whole(const raw::Recording& recording);

// Less of it is there than --strict and --max-loss ask for.
bool is_partial(const raw::Recording& recording, const RecordingStats& stats,
                const ReportOptions& options);

void tell_damage(const raw::Recording& recording, const ReportOptions& options);

// For a reader of anything but the text, which has a line for it.
void tell_loss(const RecordingStats& stats, const ReportOptions& options);

// The files that have no symbols, and why.
void tell_problems(const SymbolizerReport& symbols, const ReportOptions& options);

// What --verbose asks for.
void tell_details(const raw::Recording& recording, const Profile& profile,
                  const SymbolizerReport& symbols);

Error no_samples(const ReportOptions& options, const raw::Recording& recording,
                 const Profile& profile);

}  // namespace gosym
