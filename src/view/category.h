#pragma once

#include <string_view>

#include "profile/profile.h"

namespace gosym {

// What kind of work a function does, by its name alone: "garbage collection", "allocation",
// "locks", "kernel: network". Where the table has nothing for it, of the package, or of the
// module, it is part of. `name` is for people, `package` may be empty; the result is a view
// into an argument, or constant.
std::string_view category_of(std::string_view name, std::string_view package,
                             std::string_view module, bool is_kernel);

}  // namespace gosym
