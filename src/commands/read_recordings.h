#pragma once

#include <string>
#include <vector>

#include "raw/reader.h"

namespace gosym {

struct NamedRecording {
  std::string name;  // of the file, "-" for standard input
  raw::Recording recording;
};

// Reads recordings, and of directories all files "*.raw" in them. The one that began first
// comes first. Fails, too, if a file is named twice, or if the event, or with an empty name any
// event, was not sampled at the same rate in all of them: its samples could not be added up.
Result<std::vector<NamedRecording>> read_recordings(const std::vector<std::string>& inputs,
                                                    const std::string& event);

// The events of all of them.
std::vector<RecordedEvent> events_of(const std::vector<NamedRecording>& recordings);

}  // namespace gosym
