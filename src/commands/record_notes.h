#pragma once

#include "commands/record_options.h"
#include "record/recorder.h"
#include "record/watch.h"

// Messages of commands that record, on standard error.

namespace gosym {

void tell_start(const Sampler& sampler, const RecordingInfo& info,
                const RecordOptions& options);

// Tells what was lost or is missing, once the recording is finished.
void print_warnings(const Recorder::Summary& summary, Stop stop, const RecordingInfo& info,
                    const RecordOptions& options);

// Most of its samples cannot be named by anybody.
bool is_unusable(const Recorder::Summary& summary);

}  // namespace gosym
