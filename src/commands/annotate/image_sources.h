#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commands/annotate/source_files.h"
#include "symbolize/recorded_file.h"

namespace gosym {

// The source files of a file of a recording.
struct ImageSources {
  SourceFiles sources;
  int64_t built = 0;  // when that was last written, ns since 1970
};

// They are looked for below the directory first, unless that is empty. Which may be shown
// depends on who wrote the program; the copy in a recording is of nobody that is known.
ImageSources sources_of(const RecordedImage& image, const std::string& directory,
                        const DebugFileOptions& files, const HeldFiles& held);

// A sentence on each file that was asked for and is not shown, or not as it was.
std::vector<std::string> problems_of(const SourceFiles& sources, int64_t built);

}  // namespace gosym
