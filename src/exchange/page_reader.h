#pragma once

#include <string_view>

#include "base/result.h"
#include "page/message.h"
#include "profile/profile.h"

namespace gosym {

// Reads the page that `gosym report --html` writes (page/page.proto).
//
//   functions  named as the linker has them, where the page has that name
//   locations  without addresses: one for each sequence of calls of which all but the outermost
//              are inlined
//   samples    by steps of time, Profile::time_step
//
// An error: numbers that refer to nothing, and what is larger than any page. Takes no more than
// about `memory_budget` bytes.
Result<Profile> read_page(std::string_view file, uint64_t memory_budget);

// The same of a page that is decoded already.
Result<Profile> make_profile_of(const page::Page& page, uint64_t memory_budget);

}  // namespace gosym
