#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "exchange/input_kind.h"
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
// If the page compares two profiles (`gosym diff --html`), the side that is asked for is read,
// with its recordings, and steps of time where the comparison needed them.
//
// An error: numbers that refer to nothing, what is larger than any page, and a page that
// compares where no side is asked for, or none that does where one is. Takes no more than about
// `memory_budget` bytes.
Result<Profile> read_page(std::string_view file, uint64_t memory_budget,
                          std::optional<Side> side = {});

// Likewise, from a page that is decoded already.
Result<Profile> make_profile_of(const page::Page& page, uint64_t memory_budget,
                                std::optional<Side> side = {});

}  // namespace gosym
