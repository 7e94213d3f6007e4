#pragma once

#include <string>
#include <string_view>

namespace gosym {

// A gzip file without name and time.
std::string gzip(std::string_view data);

}  // namespace gosym
