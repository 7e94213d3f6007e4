#pragma once

#include <optional>
#include <string>
#include <string_view>

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
  // For reading. From a helper, none where it is not local; then `contents` is what was read of
  // it.
  UniqueFd file;
  bool is_local = true;  // else it could hold up whoever reads, maps or even closes it
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  bool is_at_path = false;  // its path leads to it here, and it is not deleted
  std::optional<FileContents> contents;
};

// Opens a file as open_mapped_file() does. Fails for a file without code that only its owner
// may read.
Result<OpenedFile> look_at_mapped_file(const RawMapping& mapping);

// The regular file at a path; none if it is another one than this or could hold us up.
UniqueFd look_for_file(const std::string& path, const FileKey& key);

// A perf map that was found, open for reading. None if it is not named as one is, which nothing
// but a perf map of a process has a reason to be.
UniqueFd look_at_perf_map(const UniqueFd& found);
bool is_named_as_perf_map(std::string_view path);

// The directory /tmp as a process sees it, not opened for reading; likewise.
UniqueFd look_for_tmp(uint32_t pid);

// The user namespace that the process's mount namespace belongs to; none if that is not ours or
// one below it.
UniqueFd look_for_mount_owner(uint32_t pid);

// The text of /proc/PID/maps. Empty for a kernel thread and a process that is gone.
Result<std::string> look_at_maps(uint32_t pid);
// The text of /proc/PID/smaps, likewise.
Result<std::string> look_at_smaps(uint32_t pid);

}  // namespace gosym
