#pragma once

#include <sys/stat.h>

#include <optional>

#include "base/unique_fd.h"
#include "elf/image.h"
#include "model/recording.h"
#include "record/files/go_program.h"

namespace gosym {

// What is needed of a file to know it again later, without its number and path, and what the
// sampler needs of a Go program.
struct FileContents {
  RecordedImage image;
  std::optional<GoProgram> go_program;
};

// Reads headers and notes, never symbols. The image says if they cannot be read.
FileContents read_contents(const UniqueFd& file, const struct stat& status);

// What is recorded of an image.
std::vector<LoadSegment> load_segments(const elf::Image& image);

}  // namespace gosym
