#pragma once

#include "base/result.h"
#include "commands/load_profile.h"
#include "commands/report_options.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

// Messages of `gosym report` beside the report, on standard error.

namespace gosym {

// "cpu.raw and 2 more": the name of the first of so many.
std::string with_more(std::string first, size_t count);
// The inputs as messages name them.
std::string name_of(const std::vector<std::string>& inputs);

// Less of them is there than --strict and --max-loss ask for.
bool is_partial(const std::vector<NamedRecording>& recordings, const RecordingStats& stats,
                const ReportOptions& options);

// A sentence for each thing that is damaged or missing in a recording whose samples have been
// read; empty: it is whole.
std::vector<std::string> damage_of(const NamedRecording& recording);
void tell_damage(const Profile& profile, const ReportOptions& options);

// For a reader of anything but the text, which has a line for it.
void tell_loss(const RecordingStats& stats, const ReportOptions& options);

// The files that have no symbols, and why.
void tell_problems(const SymbolizerReport& symbols, const ReportOptions& options);

// Tells what --verbose asks for.
void tell_details(const std::vector<NamedRecording>& recordings, const Profile& profile,
                  const SymbolizerReport& symbols);

Error no_samples(const ReportOptions& options, const std::vector<NamedRecording>& recordings,
                 const Profile& profile);

}  // namespace gosym
