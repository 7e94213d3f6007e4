/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The stack of a goroutine, which its thread has left for that of the runtime or of C code.

#include "frame_chain.h"
#include "goroutine.h"
#include "stack_pieces.h"

// True if the word on top of a stack is a frame pointer that the function saved which left it.
static __always_inline bool is_saved_frame(__u64 top, __u64 sp, __u64 high) {
  return top > sp && top < high;
}

// The place where the chain goes on below the top of a stack that was left by systemstack or
// asmcgocall for another, which is of use up to `end`; after the return address has been
// appended if it is not in the chain. In Go 1.21 and later the function that was called has
// pushed the frame pointer, before it has not. Up to Go 1.15 nanotime leaves its stack pointer
// in the register, and that is where systemstack begins as well. After a call back from C code
// bp is not what it was.
//
// On arm64 the word there is what the function itself returns to, with the frame pointer of its
// caller below: that leads to right below the stack pointer of the caller.
__noinline __u64 resume(__u64 end, __u64 sp, __u64 bp, __u64 high) {
#if defined(__TARGET_ARCH_arm64)
  UNUSED(bp);
  __u64 caller = read_word(sp - 8);
  __u64 place = is_saved_frame(caller, sp, high) ? caller : sp;
  return begin_piece(end, place, place, true) ? sp - 8 : 0;
#endif
  __u64 top = read_word(sp);
  if ((sp == bp && !follows_call(top)) || is_saved_frame(top, sp, high))
    return begin_piece(end, sp + 8, top, true) ? sp : 0;
  __u64 frame = bp > sp && bp < high ? bp : find_frame(sp + 8, high, top);
  if (!begin_piece(end, sp, frame, true))
    return 0;
  append(top);
  return frame;
}

// Bytes of the frame of cgocallback on arm64, from where it keeps the stack pointer that the
// runtime had for the thread.
#define CALLBACK_FRAME 48
#define CALLBACK_SAVED 16

// C code called Go code back, whose frames begin above `last`, those of cgocallback. It saved
// there the pc and sp that the goroutine had left its stack with, for C code (below):
//
// clang-format off
//   last + 16                        frame of cgocallback, of the size that it has on the other
//                                    stack; pc is its last word
//   last + 16 + callback_frame       what was on top of the goroutine's stack
// clang-format on
//
// The latter; 0 if this is no such call. While the runtime copies a stack to a larger place the
// chain leads out of the new one, too, to what has not been adjusted yet: there the words are
// those of any frame.
//
// On arm64 cgocallback saves pc in the lowest word of that frame, and below it bp, which leads
// to right below what was on top; how large the frame before is is not known.
__noinline __u64 find_callback(__u64 last, __u64 callback_frame, __u64 high) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
#if defined(__TARGET_ARCH_arm64)
  UNUSED(callback_frame);
  const int max_words = 128;  // of the frame of cgocallbackg: it has 30 or so
  for (int i = 0; i < max_words; i++) {
    __u64 place = last + sizeof(struct frame) + 8 * i;
    if (place + CALLBACK_FRAME + 8 >= high)
      break;
    __u64 pc = read_word(place + 8);
    if (read_word(place) == place + CALLBACK_FRAME && pc - sample->code < sample->code_size &&
        !follows_call(pc))
      return place + CALLBACK_FRAME + 8;
  }
  return 0;
#endif
  __u64 before = last + sizeof(struct frame) + callback_frame;
  __u64 pc = read_word(before - 8);
  __u64 top = read_word(before);
  if (before >= high || pc - sample->code >= sample->code_size || !top ||
      (follows_call(pc) && !may_call(top, pc)))
    return 0;
  return is_saved_frame(top, before, high) || follows_call(top) ? before : 0;
}

// Appends what the chain has of the C code that called Go code back. Gives where the chain goes
// on on the goroutine's stack, which was left at `before` for that; 0 if it does not.
//
// On the thread's stack the frame pointer of the Go code leads to the frame of cgocallback, on
// top of the stack pointer that the runtime keeps for the thread. It has saved there the one
// that was kept before: up to where the C code's own frames may reach.
__noinline __u64 cross_callback(__u64 last, __u64 before, __u64 callback_frame, __u64 high) {
  struct stack_pieces* pieces = current_pieces();
  if (!pieces)
    return 0;
  __u64 frame = read_word(last);
  __u64 left = read_word(pieces->left_at);
#if defined(__TARGET_ARCH_arm64)
  UNUSED(callback_frame);
  __u64 saved = left + CALLBACK_SAVED;
  __u64 limit = read_word(saved);
  bool has_place = frame + 8 == left && limit > frame;
  if (!begin_piece(before, has_place ? left + CALLBACK_FRAME - 8 : 0, read_word(frame), false))
    return 0;
  walk_part(frame, 0, has_place ? limit : ~0ull);
  pieces->left_at = saved;
  return resume(limit, before, 0, high);
#endif
  __u64 end = read_word(left);
  bool is_known = frame + sizeof(struct frame) == left + callback_frame && end > frame;
  if (!begin_piece(last + sizeof(struct frame), is_known ? frame + 8 : 0, read_word(frame),
                   false))
    return 0;
  walk_part(frame, 0, is_known ? end : ~0ull);
  pieces->left_at = left;
  return resume(end, before, 0, high);
}

// Appends what lies on top of the stack that a goroutine left for the runtime's, or that of C
// code; where the chain goes on. It did so, in Go 1.15 to 1.27:
//
//   systemstack, asmcgocall  pc is none of a caller but lies in systemstack_switch. sp and bp
//                            are those within the function that was called. In Go 1.15
//                            asmcgocall does as morestack
//   mcall                    pc, sp and bp are those of the caller
//   morestack                pc, sp and bp are those of a function that has not done anything
//                            yet, so that its return address is on top of the stack; on arm64
//                            it is in lr, which is 0 else
static __always_inline __u64 take_goroutine_top(const struct goroutine* goroutine) {
  if (!follows_call(goroutine->pc))
    return resume(goroutine->g0_sp, goroutine->sp, goroutine->bp, goroutine->high);
#if defined(__TARGET_ARCH_arm64)
  // Right below the stack pointer, as its frame is not begun.
  if (!begin_piece(goroutine->g0_sp, goroutine->sp - 8, goroutine->bp, true))
    return 0;
  append(goroutine->pc);
  if (is_return_address(goroutine->lr))
    append(goroutine->lr);
  return goroutine->bp;
#endif
  __u64 top = read_word(goroutine->sp);
  bool is_below = !goroutine->is_current && (may_call(top, goroutine->pc) || is_goexit(top));
  if (!begin_piece(goroutine->g0_sp, goroutine->sp - 8, is_below ? 0 : goroutine->bp, true))
    return 0;
  append(goroutine->pc);
  if (!is_below)
    return goroutine->bp;
  append(top);
  return goroutine->bp > goroutine->sp && goroutine->bp < goroutine->high
             ? goroutine->bp
             : find_frame(goroutine->sp + 8, goroutine->high, top);
}

// True if the chain goes on from a frame below it on the same stack. Up to Go 1.20 the register
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
  struct stack_pieces* pieces = current_pieces();
  if (!pieces)
    return;
  __u64 next = read_word(last);
  __u64 left = read_word(pieces->left_at);
#if defined(__TARGET_ARCH_arm64)
  goroutine->called_from_c = next + 8 == left;
  __u64 place = left + CALLBACK_FRAME - 8;
#else
  goroutine->called_from_c = next - left < program->callback_frame;
  __u64 place = next + 8;
#endif
  if (goroutine->called_from_c &&
      !begin_piece(last + sizeof(struct frame), place, read_word(next), false))
    return;
  walk_stack(sample, next, last + sizeof(struct frame));
}

// True if the saved frame pointer is what nanotime has left in the register, in Go 1.9 to 1.13:
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

// Follows the chain on the goroutine's stack, over C code that called Go code back, as often as
// there is such code. An end that a walk has found holds where the stack does not go on.
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
    __u64 before = find_callback(last, program->callback_frame, goroutine->high);
    if (!before) {
      leave_goroutine_stack(sample, program, goroutine, last);
      return;
    }
    sample->user_end = GOSYM_END_LIMIT;
    if (i == GOSYM_MAX_CALLBACKS)
      return;
    frame_pointer = cross_callback(last, before, program->callback_frame, goroutine->high);
    bottom = frame_pointer;
  }
}
