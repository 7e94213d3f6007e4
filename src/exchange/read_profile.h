#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "exchange/input_kind.h"
#include "profile/profile.h"

namespace gosym {

// Makes a profile of the whole of a file that holds one, of any kind but a recording, in no
// more than about `memory_budget` bytes. `side` selects one of the two profiles of a page that
// compares.
Result<Profile> read_profile(InputKind kind, std::string_view file, uint64_t memory_budget,
                             std::optional<Side> side = {});

}  // namespace gosym
