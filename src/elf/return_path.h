#pragma once

#include "elf/image.h"
#include "model/unwind_rule.h"

namespace gosym::elf {

// Rule that finds the caller from code without an unwind table, as that of musl, of Free Pascal
// and of most assembly: by what the code does from `address` on to the stack pointer and the
// frame pointer until it returns. Both sides of branches are followed, and jumps; of calls
// it is assumed that they come back, so what is reached with the fewest of them counts. None if
// the ways there do not agree, for code that returns in no way that can be seen, and where that
// is too far. On x86-64 only: elsewhere none.
std::optional<UnwindRule> rule_by_code(const Image& image, ImageAddress address);

}  // namespace gosym::elf
