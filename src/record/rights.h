#pragma once

#include <string_view>

#include "base/result.h"

namespace gosym {

// Fails where no recording is possible whatever the user's rights are: no BTF, or a pid
// namespace in which the kernel's process numbers are not ours.
Result<> check_kernel();

// A call that sampling needs failed with errno `cause`. Where the kernel refused it, names what
// is missing: a capability, a setting, or who is in the way.
Error denied_or_failed(std::string_view what, int cause);

// Why /proc/kallsyms shows no addresses, and what would make it.
std::string_view why_kernel_symbols_are_hidden();

}  // namespace gosym
