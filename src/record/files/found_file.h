#pragma once

#include <string>

#include "base/file_tree.h"
#include "base/result.h"
#include "base/unique_fd.h"

// Files that other processes see, found without being opened as file_tree.h does it. Where
// nothing is found, errno says why.

namespace gosym {

UniqueFd find_root_of(uint32_t pid);

// What has this name there. A symbolic link is not followed but found.
UniqueFd find_in(const UniqueFd& directory, const std::string& name);

// For reading.
Result<UniqueFd> open_found(const UniqueFd& found);

}  // namespace gosym
