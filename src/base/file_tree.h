#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

// Paths in a tree of files: the system's, where `root` is empty, or a copy of one below `root`.
// There an absolute path starts at `root`, and nothing leads out of it: symbolic links and ".."
// end at `root` as they do at "/".

// Finds a file without opening it (O_PATH): to open a device may do something, and a FIFO
// without a writer would hold us for good. False, with errno set, if it is not there.
UniqueFd find_file(const std::string& path, const std::string& root = {});
// Likewise, below a directory that is open.
UniqueFd find_below(const UniqueFd& root, const std::string& path);

// Opens for reading what was found, without waiting for whoever writes it.
Result<UniqueFd> reopen(const UniqueFd& found);

// The true place in the tree of a file that was found: an absolute path without links. Empty if
// that cannot be told.
std::string real_path(const UniqueFd& found, const std::string& root);

}  // namespace gosym
