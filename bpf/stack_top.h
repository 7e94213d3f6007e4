/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The top of a user stack, in which callers are found that the frame pointers leave out.

#include "code.h"
#include "far_words.h"
#include "goroutine.h"
#include "handler_stack.h"
#include "passed_callers.h"
#include "sample.h"
#include "scratch.h"
#include "stack_barriers.h"
#include "stack_pieces.h"
#include "stack_segments.h"
#include "words.h"

// Set before the program is loaded.
//
// Bytes to take of the top of a user stack: where the chain of frame pointers holds, where it
// does not, and of a goroutine's, where it does not even begin.
const volatile __u32 top_size = 0;
const volatile __u32 broken_top_size = 0;
const volatile __u32 chainless_top_size = 0;
// Nothing is taken above the innermost frame of a chain that holds.
const volatile __u8 trusts_chain = 1;

// True if the chain of frame pointers leads to the root of a goroutine, and so through Go code,
// which keeps them. In other code a register that happens to be 0 seems to be a root as well.
static __always_inline bool reaches_goexit(const struct gosym_sample* sample) {
  // Read once more: where the verifier of Linux 5.10 knows the number, it follows a branch that
  // is not taken then, and refuses what it finds there.
  __u64 depth = *(const volatile __u32*)&sample->user_depth;
  __u64 last = place_of_frame(depth + sample->missing - 1);
  return sample->user_end == GOSYM_END_ROOT && last < GOSYM_MAX_USER_FRAMES &&
         is_goexit(sample->stack[last]);
}

static __always_inline bool chain_holds(const struct gosym_sample* sample) {
  return !sample->has_gap && reaches_goexit(sample);
}

// Bytes of the stack that are needed to find the callers that the chain leaves out: what lies
// below the innermost frame in it, or else whatever may be taken.
// Above `end`, if it is on the same stack, lies nothing that called the code which was sampled.
static __always_inline __u64 wanted_top_size(const struct gosym_sample* sample,
                                             const struct goroutine* goroutine, __u64 end) {
  if (!chain_holds(sample)) {
    bool is_chainless = goroutine->is_on_stack && sample->user_depth == 1;
    __u64 size = is_chainless ? chainless_top_size : broken_top_size;
    __u64 below_end = end - sample->stack_pointer;
    return below_end < size ? below_end : size;
  }
  if (!trusts_chain)
    return top_size;
  __u64 below_frame = sample->frame_pointer - sample->stack_pointer;
  return below_frame < top_size ? below_frame : top_size;
}

// A rule may count with a word that the code has put below its stack pointer, as that of
// OpenSSL's SHA-512 does. What cannot be read becomes zeros.
static __always_inline void take_red_zone(struct gosym_sample* sample) {
#if GOSYM_RED_ZONE
  bpf_probe_read_user(sample->red_zone, sizeof(sample->red_zone),
                      (void*)(sample->stack_pointer - sizeof(sample->red_zone)));
#endif
}

// Above this nothing lies on the stack that called the code which was sampled, if that is a
// goroutine's, or that of the first thread of a process, or was left for a goroutine's.
static __always_inline __u64 end_of_callers(const struct goroutine* goroutine) {
  if (goroutine->is_on_stack && !goroutine->called_from_c)
    return goroutine->high;
  struct task_struct* task = (void*)bpf_get_current_task();
  bool works_for_goroutine = goroutine->g0_sp && !goroutine->called_from_c;
  return works_for_goroutine ? goroutine->g0_sp : BPF_CORE_READ(task, mm, start_stack);
}

// The end of a stack that is none of Go's: where that of the first thread begins, or what the C
// library keeps of another. 0: neither is near.
static __always_inline __u64 end_of_native_stack(__u64 place) {
  const __u64 near = 64 << 20;  // the first one has more than that below it
  struct task_struct* task = (void*)bpf_get_current_task();
  __u64 start = BPF_CORE_READ(task, mm, start_stack);
  if (start - place < near)
    return start;
  __u64 thread = THREAD_POINTER(task);
  return thread - place < near ? thread : 0;
}

// Beyond the top, if all of that was taken: it ends at `end`. Far words follow the largest top
// only, as less was wanted otherwise; but pages of a buffer that was not touched may end the
// top of a native stack early. Nothing is looked for on one that goes on on others.
static __always_inline void take_beyond_top(struct gosym_sample* sample,
                                            const struct goroutine* goroutine, __u64 end,
                                            bool has_others) {
  __u64 size = sample->top_size;
  if (goroutine->stack_barriers)
    restore_return_addresses(goroutine->stack_barriers, end - size);
  if (size == GOSYM_MAX_TOP_SIZE && !goroutine->has_segments && has_on_stack(goroutine, end))
    take_far_words(end, size, goroutine->high);
  else if (!trusts_chain && !goroutine->address && !goroutine->has_segments && !has_others)
    take_far_words(end, size, end_of_native_stack(end));
}

// Takes another stack's words up to where that is left, or else to where it ends: `high`, or as
// far as `limit` bytes for all stacks of the sample go. Gives where they end, if there were
// any.
__noinline __u64 take_piece(__u32 index, __u64 high, __u64 limit) {
  struct gosym_sample* sample = scratch_sample();
  struct stack_pieces* pieces = current_pieces();
  struct gosym_piece* piece = pieces ? piece_at(pieces, index) : 0;
  if (!sample || !piece || !piece->place)
    return 0;
  if (limit <= sample->top_size)
    return 0;
  __u64 end = piece->end ? piece->end : high;
  __u64 wanted = (end - piece->place) & ~7ull;
  if (wanted > limit - sample->top_size)
    wanted = limit - sample->top_size;
  __u64 taken = take_words(size_before_top(sample) + sample->top_size, piece->place, wanted);
  if (!taken)
    return 0;
  piece->offset = sample->top_size;
  sample->top_size += taken;
  return piece->place + taken;
}

// On the other stacks callers are found in the words: C code keeps no frame pointers as a rule.
// A goroutine's are only looked at if its chain is broken or not relied on. Where the
// words end that were taken last.
static __always_inline __u64 take_pieces(struct gosym_sample* sample,
                                         const struct stack_pieces* pieces,
                                         const struct goroutine* goroutine, __u64 end) {
  bool needs_goroutine = !trusts_chain || !reaches_goexit(sample);
  for (__u32 i = 0; i < GOSYM_MAX_PIECES; i++) {
    if (i >= pieces->count)
      break;
    bool is_of_goroutine = pieces->all[i].is_of_goroutine;
    if (is_of_goroutine && !needs_goroutine)
      continue;
    // Words above the end may be what is left of another goroutine's stack.
    __u64 high = is_of_goroutine ? goroutine->high : end_of_callers(goroutine);
    __u64 taken_to = take_piece(i, high, broken_top_size & ~7ull);
    if (taken_to)
      end = taken_to;
  }
  return end;
}

// The words of the stack that the code runs on, up to `end`.
static __always_inline void take_own_words(struct gosym_sample* sample,
                                           const struct goroutine* goroutine, __u64 end,
                                           bool has_others) {
  __u64 left = (end - sample->stack_pointer) & ~7ull;
  __u64 wanted = wanted_top_size(sample, goroutine, end) & ~7ull;
  if (has_others && left < wanted)
    wanted = left;
  sample->top_size = take_words(size_before_top(sample), sample->stack_pointer, wanted);
}

// On a stack for handlers callers are found in its words: what was interrupted by those is no
// part of the chain.
static __always_inline void set_interrupted(struct gosym_sample* sample,
                                            struct stack_pieces* pieces,
                                            const struct goroutine* goroutine,
                                            const struct handler_stack* handler) {
  __u64 place = handler->interrupted;
  sample->has_gap = 1;
  pieces->own_end = handler->end;
  pieces->count = place != 0;
  pieces->all[0] =
      (struct gosym_piece){.place = place,
                           .end = has_on_stack(goroutine, place) ? goroutine->high : 0,
                           .offset = GOSYM_NO_WORDS};
}

static __always_inline void take_words_of_stacks(struct gosym_sample* sample,
                                                 const struct goroutine* goroutine,
                                                 const struct handler_stack* handler) {
  struct stack_pieces* pieces = current_pieces();
  if (!pieces)
    return;
  if (handler->end)
    set_interrupted(sample, pieces, goroutine, handler);
  if (goroutine->has_segments && !pieces->count) {
    take_segments(sample, goroutine->high, chainless_top_size & ~7ull);
    return;
  }
  __u64 own_end = pieces->count ? pieces->own_end : end_of_callers(goroutine);
  take_own_words(sample, goroutine, own_end, pieces->count != 0);
  __u64 end = take_pieces(sample, pieces, goroutine, sample->stack_pointer + sample->top_size);
  take_beyond_top(sample, goroutine, end, pieces->count != 0);
}

// Behind the words.
static __always_inline void put_pieces(struct gosym_sample* sample) {
  struct stack_pieces* pieces = current_pieces();
  if (!pieces)
    return;
  __u64 at = size_before_top(sample) + sample->top_size + sample->far_size;
  __u64 size = sizeof(struct gosym_piece) * pieces->count;
  asm volatile("" : "+r"(at), "+r"(size));
  if (size > sizeof(pieces->all) || at > sizeof(sample->stack) - sizeof(pieces->all))
    return;
  if (!bpf_probe_read_kernel((char*)sample->stack + at, size, pieces->all))
    sample->piece_count = pieces->count;
}

// Behind those.
static __always_inline void put_passed(struct gosym_sample* sample) {
  struct passed_callers* passed = current_passed();
  if (!passed)
    return;
  __u64 at = size_before_top(sample) + sample->top_size + sample->far_size +
             sizeof(struct gosym_piece) * sample->piece_count;
  __u64 size = sizeof(struct gosym_passed) * passed->count;
  asm volatile("" : "+r"(at), "+r"(size));
  if (size > sizeof(passed->all) || at > sizeof(sample->stack) - sizeof(passed->all))
    return;
  if (!bpf_probe_read_kernel((char*)sample->stack + at, size, passed->all))
    sample->passed_count = passed->count;
}

// Each part begins where those before it end, so the order is that of `stack` in gosym_sample.
static __always_inline void take_top(struct gosym_sample* sample,
                                     const struct goroutine* goroutine,
                                     const struct handler_stack* handler) {
  sample->top_size = 0;
  sample->far_size = 0;
  sample->piece_count = 0;
  sample->passed_count = 0;
  if (sample->user_depth == 0)
    return;
  take_red_zone(sample);
  take_words_of_stacks(sample, goroutine, handler);
  put_pieces(sample);
  put_passed(sample);
}
