/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The top of a user stack, in which callers are found that the frame pointers leave out.

#include "code.h"
#include "far_words.h"
#include "goroutine.h"
#include "handler_stack.h"
#include "sample.h"
#include "scratch.h"
#include "stack_barriers.h"
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

// Whether the chain of frame pointers leads to the root of a goroutine, and so through Go code,
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

// How much of the stack is needed to find the callers that the chain leaves out: what lies
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
  bpf_probe_read_user(sample->red_zone, sizeof(sample->red_zone),
                      (void*)(sample->stack_pointer - sizeof(sample->red_zone)));
}

// Where the words of one stack end, and those of the one that it was left for begin.
struct join {
  __u64 end;  // 0: there is no other stack
  __u64 outer;
};

// On the stack for handlers callers are found in its words: those that it interrupted are no
// part of the chain. Where the chain of a goroutine that has left its stack is broken, or not
// relied on, they are found in the words of that, from the return address that the switch left
// below its top: what lies above on the thread's own stack is of earlier calls. C
// code that called Go code has no chain: its callers are found in the words of the thread's
// stack, from the frame on that the goroutine's leads to. If the goroutine has left its stack
// for that again they follow on the words of what works for it.
static __always_inline struct join find_join(const struct gosym_sample* sample,
                                             const struct handler_stack* handler,
                                             const struct goroutine* goroutine) {
  if (handler->end)
    return (struct join){handler->end, handler->interrupted};
  if (goroutine->has_left_stack && !goroutine->called_from_c &&
      !(trusts_chain && reaches_goexit(sample)))
    return (struct join){goroutine->g0_sp, goroutine->sp - 8};
  if (goroutine->called_from_c && !goroutine->has_left_stack)
    return (struct join){goroutine->called_from_c + 16, read_word(goroutine->called_from_c)};
  return (struct join){};
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

// Beyond the top, if all of that was taken.
static __always_inline void take_beyond_top(struct gosym_sample* sample,
                                            const struct goroutine* goroutine) {
  __u64 size = sample->top_size;
  if (goroutine->stack_barriers)
    restore_return_addresses(goroutine->stack_barriers);
  __u64 end = sample->inner_size ? sample->outer + (size - sample->inner_size)
                                 : sample->stack_pointer + size;
  if (size == GOSYM_MAX_TOP_SIZE && !goroutine->has_segments && has_on_stack(goroutine, end))
    take_far_words(end, size, goroutine->high);
}

static __always_inline void take_words_of_stack(struct gosym_sample* sample,
                                                const struct goroutine* goroutine,
                                                const struct handler_stack* handler) {
  __u64 begin = size_before_top(sample);
  struct join join = find_join(sample, handler, goroutine);
  if (goroutine->has_segments && !join.end) {
    take_segments(sample, goroutine->high, chainless_top_size & ~7ull);
    return;
  }
  __u64 wanted = join.end
                     ? broken_top_size
                     : wanted_top_size(sample, goroutine, end_of_callers(goroutine)) & ~7ull;
  __u64 left = join.end - sample->stack_pointer;
  __u64 first = join.end && left < wanted ? left & ~7ull : wanted;
  __u64 taken = take_words(begin, sample->stack_pointer, first);
  sample->top_size = taken;
  if (!join.end || taken != left || !join.outer)
    return;
  sample->inner_size = taken;
  sample->outer = join.outer;
  // What lies above the end may be what is left of another goroutine's stack.
  __u64 rest = wanted - taken;
  if (has_on_stack(goroutine, join.outer) && goroutine->high - join.outer < rest)
    rest = (goroutine->high - join.outer) & ~7ull;
  sample->top_size += take_words(begin + taken, join.outer, rest);
  // Of a stack that is being copied what lies below the top is not there yet.
  if (goroutine->has_left_stack && join.outer == goroutine->sp - 8 &&
      sample->top_size > taken && follows_call(goroutine->pc))
    put_word(sample, begin + taken, goroutine->pc);
}

static __always_inline void take_top(struct gosym_sample* sample,
                                     const struct goroutine* goroutine,
                                     const struct handler_stack* handler) {
  sample->top_size = 0;
  sample->inner_size = 0;
  sample->far_size = 0;
  if (sample->user_depth == 0)
    return;
  take_red_zone(sample);
  take_words_of_stack(sample, goroutine, handler);
  take_beyond_top(sample, goroutine);
}
