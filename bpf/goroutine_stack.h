/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The stack of a goroutine, which its thread has left for that of the runtime or of C code.

#include "frame_chain.h"
#include "goroutine.h"

// Appends the return address on top of a stack; where the chain goes on. After a call back from
// C code bp is not what it was.
__noinline __u64 push_top(__u64 top, __u64 sp, __u64 bp, __u64 high) {
  append(top);
  return bp > sp && bp < high ? bp : find_frame(sp + 8, high, top);
}

// Whether the word on top of a stack is a frame pointer that the function saved which left it.
static __always_inline bool is_saved_frame(__u64 top, __u64 sp, __u64 high) {
  return top > sp && top < high;
}

// Where the chain goes on below the top of a stack that was left by systemstack or asmcgocall,
// after the return address has been appended if it is not in the chain. In Go 1.21 and later
// the function that was called has pushed the frame pointer, before it has not. Up to Go 1.15
// nanotime leaves its stack pointer in the register, and that is where systemstack begins as
// well.
__noinline __u64 resume(__u64 sp, __u64 bp, __u64 high) {
  __u64 top = read_word(sp);
  if ((sp == bp && !follows_call(top)) || is_saved_frame(top, sp, high))
    return sp;
  return push_top(top, sp, bp, high);
}

// C code called Go code back, whose frames begin above `last`, those of cgocallback. It saved
// there the pc and sp that the goroutine had left its stack with, for C code (below):
//
// clang-format off
//   last + 16                        frame of cgocallback, of the size that it has on the other
//                                    stack; pc is its last word
//   last + 16 + callback_frame       what was on top of the goroutine's stack
// clang-format on
//
// Appends what the chain, which leads through the other stack, has of the C code. Where the
// chain goes on on the goroutine's stack; 0 if this is no such call.
__noinline __u64 cross_callback(__u64 last, __u64 callback_frame, __u64 high, __u64 g0_high) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  __u64 before = last + sizeof(struct frame) + callback_frame;
  __u64 pc = read_word(before - 8);
  __u64 top = read_word(before);
  if (before >= high || !pc || !top || (follows_call(pc) && !may_call(top, pc)))
    return 0;
  if (!is_saved_frame(top, before, high) && !follows_call(top))
    return 0;
  walk_part(read_word(last), 0, g0_high);
  sample->has_gap = 1;
  if (!sample->goroutine_start)
    sample->goroutine_start = sample->user_depth;
  return resume(before, 0, high);
}

// Appends what lies on top of the stack that a goroutine left for the runtime's, or that of C
// code; where the chain goes on. It did so, in Go 1.15 to 1.27:
//
//   systemstack, asmcgocall  pc is none of a caller but lies in systemstack_switch. sp and bp
//                            are those within the function that was called. In Go 1.15
//                            asmcgocall does as morestack
//   mcall                    pc, sp and bp are those of the caller
//   morestack                pc, sp and bp are those of a function that has not done anything
//                            yet, so that its return address is on top of the stack
static __always_inline __u64 take_goroutine_top(struct gosym_sample* sample,
                                                const struct goroutine* goroutine) {
  sample->goroutine_start = sample->user_depth;
  if (!follows_call(goroutine->pc))
    return resume(goroutine->sp, goroutine->bp, goroutine->high);
  append(goroutine->pc);
  if (goroutine->is_current)
    return goroutine->bp;
  __u64 top = read_word(goroutine->sp);
  if (!may_call(top, goroutine->pc) && !is_goexit(top))
    return goroutine->bp;
  return push_top(top, goroutine->sp, goroutine->bp, goroutine->high);
}

// Whether the chain goes on from a frame below it on the same stack. Up to Go 1.20 the register
// is not restored when a panic has been recovered: what deferred functions save then is that of
// a function which is gone.
static __always_inline bool leads_below(const struct goroutine* goroutine, __u64 last) {
  __u64 next = read_word(last);
  return next >= goroutine->low && next <= last;
}

// Appends what the chain, which leads from the frame `last` to another stack, has there. That
// may be the thread's, from where C code called Go code that no goroutine waits for: then the
// frame pointer leads to that of cgocallback, just above the stack pointer that this saved.
static __always_inline void leave_goroutine_stack(struct gosym_sample* sample,
                                                  const struct gosym_go_program* program,
                                                  struct goroutine* goroutine, __u64 last) {
  __u64 next = read_word(last);
  __u64 saved = read_word(goroutine->g0 + program->g_sched_sp);
  __u32 start = sample->user_depth;
  walk_stack(sample, next, last + sizeof(struct frame));
  if (next - saved >= program->callback_frame || sample->user_depth == start)
    return;
  goroutine->called_from_c = last;
  if (!sample->goroutine_start)
    sample->goroutine_start = start;
}

// Whether the saved frame pointer is what nanotime has left in the register, in Go 1.9 to 1.13:
// the stack pointer that it was called with. runtime.main calls it before main.main.
static __always_inline bool is_of_nanotime(__u64 last) {
  return read_word(last) == last + 8;
}

// The return address of the goroutine's first function, if what called the one with the frame
// `last` is that: then none of another lies between. 0: it is not. What has the place of that
// call before it is part of the record of a deferred function.
__noinline __u64 find_goexit(__u64 last, __u64 high) {
  const int max_words = 64;  // of a frame: that of runtime.main has 15
  __u64 begin = last + sizeof(struct frame);
  for (int i = 0; i < max_words; i++) {
    __u64 place = begin + 8 * i;
    if (place >= high)
      break;
    __u64 word = read_word(place);
    if (is_goexit(word))
      return word;
    if (follows_call(word) && read_word(place - 8) != begin)
      break;
  }
  return 0;
}

static __always_inline void go_on_to_goexit(struct gosym_sample* sample, __u64 last,
                                            __u64 high) {
  __u64 root = find_goexit(last, high);
  if (root && append(root))
    sample->user_end = GOSYM_END_ROOT;
}

static __always_inline void take_goroutine_stack(struct gosym_sample* sample,
                                                 const struct gosym_go_program* program,
                                                 struct goroutine* goroutine,
                                                 __u64 frame_pointer, __u64 bottom) {
  for (int i = 0; i <= GOSYM_MAX_CALLBACKS; i++) {
    __u64 last = walk_goroutine(sample, frame_pointer, bottom, goroutine->high);
    if (!last || leads_below(goroutine, last))
      return;
    if (is_of_nanotime(last)) {
      go_on_to_goexit(sample, last, goroutine->high);
      return;
    }
    frame_pointer =
        cross_callback(last, program->callback_frame, goroutine->high, goroutine->g0_high);
    if (!frame_pointer) {
      leave_goroutine_stack(sample, program, goroutine, last);
      return;
    }
    bottom = frame_pointer;
  }
}
