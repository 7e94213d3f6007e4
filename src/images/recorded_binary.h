#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "images/binary.h"
#include "images/debug_file.h"
#include "profile/profile.h"

namespace gosym {

// A copy in memory that nobody can write, as a recording keeps one: it has a time of its own.
bool is_sealed(const UniqueFd& file);

// Files that are open, of a running process or kept by a recording.
using HeldFiles = std::map<ImageId, UniqueFd>;

// The very file of a recording, found again; or why it was not.
struct RecordedBinary {
  std::shared_ptr<Binary> binary;  // null: `unnamed` says why
  Unnamed unnamed = Unnamed::kNotSymbolized;
  std::string problem = {};  // for the user
};

// True if nothing but size, segments and time of change tell a file from others: it has no
// build id, or one that others may have too.
bool is_told_by_time(const RecordedImage& image);

// The id that stores know the file of an image by (elf::store_id); empty if it has none.
std::string store_id(const RecordedImage& image);
// The places of the file in these stores, in their order; none if it has no such id.
std::vector<std::string> places_in_stores(const RecordedImage& image,
                                          const std::vector<std::string>& stores);

// Opens the file at the recorded path, below --symfs if that is given, if it is the one that
// was recorded: its build ids are equal, or, if it had none, its size and time of change. A
// file in `held` is used instead of the one at its path; where that is gone or another, a whole
// copy in a store by build id (open_stored_file).
RecordedBinary open_recorded_binary(const RecordedImage& image,
                                    const DebugFileOptions& options = {},
                                    const HeldFiles& held = {});

// Checks the result of find_file(), or a file that is open; if nothing was found, errno must
// still say why.
RecordedBinary check_recorded_binary(const RecordedImage& image, const UniqueFd& found,
                                     bool is_held = false);

}  // namespace gosym
