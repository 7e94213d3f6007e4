#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
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
  bool has_set_aside = false;  // what was there is PATH.old now
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

// A file that open_output() has made, as another process can know it again.
struct NewFile {
  std::string path;
  dev_t device = 0;
  ino_t number = 0;
  bool has_set_aside = false;
};
// None: it is not ours.
std::optional<NewFile> new_file(const std::string& path, const OutputFile& output);

// Takes such a file away if it is there, and has an end and no samples. What was set aside for
// it has its name again.
enum class Withdrawn : uint8_t { kNot, kRemoved, kReplaced };
Withdrawn withdraw(const NewFile& file);

// Opens a recording to add to it; fails while it is being recorded.
Result<OutputFile> open_to_append(const std::string& path);

}  // namespace gosym::raw
