#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

// Files that other processes see, found without being opened (O_PATH): to open a FIFO waits,
// and to open a device may act on it. Where nothing is found, errno says why.

namespace gosym {

// By a path of ours, or a link of /proc.
UniqueFd find(const std::string& path);

UniqueFd find_root_of(uint32_t pid);

// As a process with that root does: symbolic links and ".." do not lead out of it.
UniqueFd find_below(const UniqueFd& root, const std::string& path);

// What has this name there. A symbolic link is not followed but found.
UniqueFd find_in(const UniqueFd& directory, const std::string& name);

// For reading.
Result<UniqueFd> open_found(const UniqueFd& found);

}  // namespace gosym
