#pragma once

#include "base/unwind_rule.h"
#include "elf/image.h"

namespace gosym::elf {

// Whether the instruction before an address is a call, as it is before a return address. Also
// true where the machine is not known, or the file has no code there to look at.
bool may_follow_call(const Image& image, ImageAddress address);

// Whether a coroutine begins there, with code that nothing calls but its function returns to:
// __start_context of the GNU C library, to which makecontext leads, or what make_fcontext of
// Boost lets it return to. On x86-64 only: elsewhere false.
bool is_context_start(const Image& image, ImageAddress address);

// Whether the code there is what a signal handler returns to, the system call that restores the
// interrupted registers, or is within it, or right behind. On x86-64 only: elsewhere false.
bool is_signal_return(const Image& image, ImageAddress address);

// How to find the caller where the code is, or comes to next, `jmp *slot(%rip)`, as in stubs of
// the procedure linkage table, of which lld writes no unwind table: nothing was pushed since
// the call. None for other code. On x86-64 only: elsewhere none.
std::optional<UnwindRule> rule_at_jump(const Image& image, ImageAddress address);

}  // namespace gosym::elf
