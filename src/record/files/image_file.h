#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/perf/sideband_record.h"

namespace gosym {

// Opens the file behind a mapping of a process for reading. Ways to it, best first:
//
//   /proc/PID/map_files/START-END  also deleted and replaced files, and those of containers
//   /proc/PID/exe                  also a deleted one
//   /proc/PID/root and the path    as the process sees the path
//   the path itself                when the process is gone
//
// The first leads to the very file; what the others lead to is taken only if it has the device
// and inode of the mapping. Nothing but a regular file is ever opened: a device could act on
// it.
Result<UniqueFd> open_mapped_file(const RawMapping& mapping);

// True if the file that was found is a regular one, with this device and inode.
bool is_file(const UniqueFd& found, const FileKey& key);
FileKey key_of(const UniqueFd& file);

// Cuts " (deleted)" off, with which the kernel marks paths that do not lead to the file.
bool strip_deleted(std::string& path);

}  // namespace gosym
