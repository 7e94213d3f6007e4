#pragma once

#include <optional>

#include "go/module.h"
#include "model/unwind_rule.h"

namespace gosym::go {

// Rule that finds the caller of a Go function, from its table of stack depths (pcsp): the bytes
// that it has moved the stack pointer by at each of its instructions.
//
//             CFA                return address                  frame pointer of the caller
//   amd64     SP + depth + 8     CFA - 8                         CFA - 16
//   386       SP + depth + 4     CFA - 4                         none is kept
//   arm64     SP + depth         SP; at depth 0: link register   SP - 8
//
// Functions keep frame pointers from Go 1.7 on (amd64) and 1.12 on (arm64), but not if they
// have no frame, and not if they were written in assembly with a frame of their own making;
// that is seen from their code:
//
//   push %rbp                first of all that moves the stack pointer: amd64, from Go 1.21 on
//   mov %rbp, depth-8(%rsp)  right after it was moved, and then lea depth-8(%rsp), %rbp: amd64,
//                            before. It is loaded again right before the stack is moved back
//   stur x29, [sp, -8]       right after it was moved: arm64, frames of up to 496 bytes; it was
//                            stored before in larger ones
//
// runtime.sigpanic and the functions that are injected into code return to where it was
// interrupted. On arm64 the signal handler has moved the stack pointer by 16 before that and
// saved the link register of the interrupted function there: their CFA lies 16 higher.
//
// runtime.mcall and runtime.morestack are roots of the scheduler's stack once they have called
// it; so is runtime.gogo of a goroutine's. None for what is not Go's or not known, and for
// other functions that switch from one stack to another once they may have done so, but the
// clocks up to Go 1.15, which keep their stack pointer in %rbp.
//
// `address` is where the function is stopped: in a caller, a byte before what is returned to.
std::optional<UnwindRule> unwind_rule(const Module& module, ImageAddress address);

// Code that may call a Go function, or be called by it, where Go code borders on other code.
enum class Bordering : uint8_t {
  kCompiled,          // it calls no other code than Go's
  kAssembly,          // it may call any
  kCalledByC,         // crosscall2
  kCalledByAssembly,  // cgocallback, which that calls
};
// None for what is not Go's, or C code in its table.
std::optional<Bordering> bordering(const Module& module, ImageAddress address);

// True if Go's table has it as a function without tables of its own: C code that Go's
// linker took in, of the race detector. It has no unwind tables at all.
bool is_native(const Module& module, ImageAddress address);

// True if a deferred function may return to this address though no call lies before it: up to
// Go 1.17 runtime.jmpdefer has it return to the call of runtime.deferreturn itself, which so
// calls the next one.
bool is_call_of_deferreturn(const Module& module, ImageAddress address);

// True if this is the address at which, by the runtime's record, a goroutine stopped that has
// gone to the stack of its thread: in runtime.systemstack_switch, which is never called. Up to
// Go 1.20 it is the first instruction, before which another function lies.
bool is_place_of_switch(const Module& module, ImageAddress address);

}  // namespace gosym::go
