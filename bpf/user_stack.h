/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The chain of frame pointers of a user stack, whatever runs on it.

#include "goroutine_stack.h"
#include "scratch.h"
#include "user_memory.h"

// True if the chain of the thread's stack, up to the frame `last`, may have passed over frames
// before it came to where that stack begins. On x86-64 the runtime's own code has its first
// frame right there, and C code further in; without any frame `last` is 0, and far off. On
// arm64, where frames lie elsewhere in it, it does not if it leads to what left the
// goroutine's.
static __always_inline bool lacks_frames(const struct goroutine* goroutine,
                                         struct registers registers, __u64 last) {
#if defined(__TARGET_ARCH_x86)
  return goroutine->g0_sp - last > GOSYM_MAX_ENTRY_SIZE;
#else
  return (last ? read_word(last) : registers.fp) != goroutine->bp;
#endif
}

// Begins with the stack that the code runs on. If that works for a goroutine which has left its
// own, the chain is followed to where it was entered, and goes on on the goroutine's. Of a
// program without frame pointers that has the frames of its top only, and the reader finds the
// others.
static __always_inline void walk_user_stack(struct gosym_sample* sample,
                                            struct registers registers,
                                            const struct gosym_go_program* program,
                                            struct goroutine* goroutine) {
  sample->stack[0] = registers.ip;
  sample->user_depth = 1;
  set_stack_pointer(sample, registers.sp);
  sample->frame_pointer = registers.fp;
  bool has_frames = program && program->g_sched_bp;
  __u64 bottom = lowest_frame(registers.sp);
  if (program && goroutine->has_left_stack) {
    __u64 last = has_frames ? walk_part(registers.fp, bottom, goroutine->g0_sp) : 0;
    sample->has_gap = lacks_frames(goroutine, registers, last);
    __u64 frame_pointer = take_goroutine_top(goroutine);
    sample->user_end = GOSYM_END_BAD_FRAME;
    if (has_frames)
      take_goroutine_stack(sample, program, goroutine, frame_pointer,
                           lowest_frame(goroutine->sp));
  } else if (has_frames && goroutine->is_on_stack) {
    take_goroutine_stack(sample, program, goroutine, registers.fp, bottom);
  } else {
    walk_stack(sample, registers.fp, bottom);
  }
}

// More frames are appended than a sample keeps, the outer ones in a ring: the depth counts all
// of them until the end, when those that are missing are told apart.
static __always_inline void take_user_stack(struct gosym_sample* sample,
                                            struct registers registers,
                                            const struct gosym_go_program* program,
                                            struct goroutine* goroutine) {
  sample->user_depth = 0;
  sample->missing = 0;
  sample->has_gap = 0;
  sample->user_end = GOSYM_END_ROOT;
  sample->barrier_place = ~0ull;
  sample->code = program ? program->code : 0;
  sample->code_size = program && program->g_sched_bp ? program->code_size : 0;
  struct stack_pieces* pieces = current_pieces();
  struct passed_callers* passed = current_passed();
  if (registers.ip == 0 || !pieces || !passed)
    return;
  pieces->count = 0;
  passed->count = 0;
  pieces->left_at = program ? goroutine->g0 + program->g_sched_sp : 0;
  if (goroutine->stack_barriers)
    find_barriers(goroutine->stack_barriers);
  walk_user_stack(sample, registers, program, goroutine);
  if (sample->user_depth <= GOSYM_MAX_USER_FRAMES)
    return;
  sample->missing = sample->user_depth - GOSYM_MAX_USER_FRAMES;
  sample->user_depth = GOSYM_MAX_USER_FRAMES;
}
