#pragma once

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

}  // namespace gosym::elf
