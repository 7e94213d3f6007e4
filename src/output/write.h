#pragma once

#include <functional>
#include <string_view>

namespace gosym {

// Takes the next part of an output; false if nobody reads it any more.
using Write = std::function<bool(std::string_view)>;

}  // namespace gosym
