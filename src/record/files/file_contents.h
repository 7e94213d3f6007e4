#pragma once

#include <sys/stat.h>

#include <optional>

#include "base/unique_fd.h"
#include "elf/image.h"
#include "model/recording.h"
#include "record/files/go_program.h"

namespace gosym {

// Describes a file so that it is known again later, without its number and path; with the facts
// that the sampler needs of a Go program.
struct FileContents {
  RecordedImage image;
  std::optional<GoProgram> go_program;
};

// Reads headers and notes, never symbols. The image says if they cannot be read.
FileContents read_contents(const UniqueFd& file, const struct stat& status);

// The loadable segments, as an image of a recording lists them.
std::vector<LoadSegment> load_segments(const elf::Image& image);

}  // namespace gosym
