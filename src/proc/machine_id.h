#pragma once

#include <string>
#include <string_view>

namespace gosym::proc {

// 16 bytes that tell this machine from others of its name: a hash of /etc/machine-id, for
// machine-id(5) asks that the id itself goes nowhere. Empty where the file has none.
std::string machine_id();
// The hash of the text of such a file.
std::string hashed_machine_id(std::string_view text);

}  // namespace gosym::proc
