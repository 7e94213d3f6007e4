#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"

namespace gosym {

// Whether who opens a file to write finds there what somebody else may have put in its place:
// in /tmp and the like, links and FIFOs of other users (as fs.protected_symlinks and
// fs.protected_fifos have it, which are not set everywhere). `status` is of lstat.
bool is_planted(const std::string& path, const struct stat& status);
Error planted_error(const std::string& path, const struct stat& status);

}  // namespace gosym
