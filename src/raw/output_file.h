#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym::raw {

// Where a recording goes.
struct OutputFile {
  UniqueFd fd;
  std::string name;  // for messages
  // A regular file that nobody else writes: it may be cut.
  bool is_ours = false;
};

// A recorder often runs as root in a directory of somebody else, so what is at `path` is never
// overwritten, nor is a link followed to a place that was not named:
//
//   nothing         a new file, mode 0600
//   regular file    is renamed to PATH.old, replacing an older one; then as above. One without
//                   samples replaces no older one, and one that is being recorded is refused
//   device, FIFO    is written to, as with `>`; block devices are refused, and what others have
//                   put into a directory where everybody may write
//   symbolic link   is followed to a character device or FIFO (/dev/stdout may be one), else
//                   refused
//
// "-" is standard output.
Result<OutputFile> open_output(const std::string& path);

// Opens a recording to add to it; fails while it is being recorded.
Result<OutputFile> open_to_append(const std::string& path);

}  // namespace gosym::raw
