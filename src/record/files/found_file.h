#pragma once

#include <string>

#include "base/file_tree.h"
#include "base/result.h"
#include "base/unique_fd.h"

// Files that other processes see, found without being opened as file_tree.h does it. Where
// nothing is found, errno says why.

namespace gosym {

UniqueFd find_root_of(uint32_t pid);

// Finds a name in a directory, as a descriptor of O_PATH. A symbolic link is found itself and
// not followed.
UniqueFd find_in(const UniqueFd& directory, const std::string& name);

// For reading.
Result<UniqueFd> open_found(const UniqueFd& found);

}  // namespace gosym
