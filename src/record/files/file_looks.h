#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/files/file_contents.h"
#include "record/perf/sideband_record.h"

// Looks at files and processes of strangers that may take for ever: a file system in user space
// answers when its server likes to, and a process that waits for one holds its map of memory.
// FileHelper does them in a process that may be left behind.

namespace gosym {

// A file that was found.
struct OpenedFile {
  // For reading. None where it is on a file system that could hold up whoever reads, maps or
  // even closes it; then `contents` is what was read of it.
  UniqueFd file;
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  bool is_at_path = false;  // its path leads to it here, and it is not deleted
  std::optional<FileContents> contents;
};

// As open_mapped_file() finds it.
Result<OpenedFile> look_at_mapped_file(const RawMapping& mapping);

// The regular file at a path; none if it is another one than this or could hold us up.
UniqueFd look_for_file(const std::string& path, const FileKey& key);

// The directory /tmp as a process sees it, not opened for reading; likewise.
UniqueFd look_for_tmp(uint32_t pid);

// The text of /proc/PID/maps. Empty for a kernel thread and a process that is gone.
Result<std::string> look_at_maps(uint32_t pid);

}  // namespace gosym
