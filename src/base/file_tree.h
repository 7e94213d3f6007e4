#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

// Paths in a tree of files: the system's, where `root` is empty, or a copy of one below `root`.
// There an absolute path starts at `root`, and nothing leads out of it: symbolic links and ".."
// end at `root` as they do at "/".

// Finds a file without opening it (O_PATH): to open a device may do something, and a FIFO
// without a writer would hold us for good. None, with errno set, if it is not there.
UniqueFd find_file(const std::string& path, const std::string& root = {});
// Likewise, below a directory that is open.
UniqueFd find_below(const UniqueFd& root, const std::string& path);

// Opens for reading what was found, without waiting for whoever writes it.
Result<UniqueFd> reopen(const UniqueFd& found);

// The true place in the tree of a file that was found: an absolute path without links. Empty if
// that cannot be told.
std::string real_path(const UniqueFd& found, const std::string& root);

// True if a file that is opened for writing may have been put there by somebody else: in /tmp
// and the like, links and FIFOs of other users (by the rules of fs.protected_symlinks and
// fs.protected_fifos, which are not set everywhere). `status` is of lstat.
bool is_planted(const std::string& path, const struct stat& status);
Error planted_error(const std::string& path, const struct stat& status);

// Gives a file of a directory, or of AT_FDCWD, another name. False, with EEXIST, if that is
// taken. On file systems that cannot do both at once, a file that comes in between is replaced.
bool rename_to_nothing(int directory, const std::string& from, const std::string& to);

// Lets this process have as many files open as the administrator allows, where the limit it has
// from its shell is 1024 as a rule. What it has started keeps its own.
void raise_file_limit();

}  // namespace gosym
