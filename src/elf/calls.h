#pragma once

#include "elf/image.h"
#include "model/unwind_rule.h"

namespace gosym::elf {

// True if the instruction before an address is a call, as it is before a return address. Also
// true where the machine is not known, or the file has no code there to look at.
bool may_follow_call(const Image& image, ImageAddress address);

struct ResultCall {
  ImageAddress target{};
  bool is_last = false;  // nothing but padding lies behind it: it does not come back
};

// True if a coroutine begins there, with code that nothing calls but its function returns to:
// __start_context of the GNU C library, to which makecontext leads, or what make_fcontext of
// Boost lets it return to. On x86-64 only: elsewhere false.
bool is_context_start(const Image& image, ImageAddress address);

// True if the code there is what a signal handler returns to, the system call that restores
// the interrupted registers, or is within it, or right behind. On x86-64 and 64-bit ARM:
// elsewhere false.
bool is_signal_return(const Image& image, ImageAddress address);

// Finds the function that the code at a return address calls with the result of the call before
// it, as in exit(main(...)). None for other code. On x86-64 only: elsewhere none. So the
// function that returns there is the first of its stack.
std::optional<ResultCall> call_with_result(const Image& image, ImageAddress address);

// True if a thread ends itself there with the result of its function, as clone of musl has it.
// On x86-64 only: elsewhere false.
bool is_thread_end(const Image& image, ImageAddress address);

// Rule that finds the caller where the code is, or comes to next, `jmp *slot(%rip)`, as in
// stubs of the procedure linkage table, of which lld writes no unwind table: nothing was pushed
// since the call. None for other code. On x86-64 only: elsewhere none.
std::optional<UnwindRule> rule_at_jump(const Image& image, ImageAddress address);

// Bytes of `size` bytes of code from an address on that lie before the first place where a
// function seems to end: a return or a jump, and behind it nothing but what aligns the next to
// 16 bytes. All of it if there is no such place, or for machines other than x86.
uint64_t size_up_to_padding(const Image& image, ImageAddress address, uint64_t size);

// True if there is nothing from the address on but what aligns the next function to 16 bytes.
// False for machines other than x86, and where nothing has to be aligned.
bool is_padding(const Image& image, ImageAddress address);

}  // namespace gosym::elf
