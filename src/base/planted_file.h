#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"

namespace gosym {

// True if a file that is opened for writing may have been put there by somebody else: in /tmp
// and the like, links and FIFOs of other users (by the rules of fs.protected_symlinks and
// fs.protected_fifos, which are not set everywhere). `status` is of lstat.
bool is_planted(const std::string& path, const struct stat& status);
Error planted_error(const std::string& path, const struct stat& status);

}  // namespace gosym
