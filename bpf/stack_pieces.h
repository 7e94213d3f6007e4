/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The other stacks that a stack goes on on: a goroutine's that its thread has left for C code,
// that of the thread where C code called Go code back, the goroutine's again, and so on.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "sample.h"
#include "scratch.h"

// They are found by the walk along the frame pointers. Here the verifier does not remember the
// values.
struct stack_pieces {
  __u64 own_end;  // up to where the stack that the code runs on is of use; 0: there is no other
  // The place of the stack pointer that the thread's stack was left with for the next callback
  // outwards: first in g, then on that stack itself.
  __u64 left_at;
  __u32 count;
  struct gosym_piece all[GOSYM_MAX_PIECES];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct stack_pieces);
} stack_pieces SEC(".maps");

static __always_inline struct stack_pieces* current_pieces(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&stack_pieces, &zero);
}

// None if there is no such piece. The compiler would add to the address before it checks the
// index.
static __always_inline struct gosym_piece* piece_at(struct stack_pieces* pieces, __u64 index) {
  if (index >= GOSYM_MAX_PIECES)
    return 0;
  asm volatile("" : "+r"(index));
  if (index >= GOSYM_MAX_PIECES)
    return 0;
  return &pieces->all[index];
}

// The pieces so far end at `end`, and the frames that are appended from here on are of another
// stack. The first of them is returned to by the word at `place`, and there the frame pointer
// is `frame`; 0: not known. False if there are too many.
__noinline bool begin_piece(__u64 end, __u64 place, __u64 frame, bool is_of_goroutine) {
  struct gosym_sample* sample = scratch_sample();
  struct stack_pieces* pieces = current_pieces();
  if (!sample || !pieces)
    return false;
  __u64 count = pieces->count;
  struct gosym_piece* piece = piece_at(pieces, count);
  if (!piece)
    return false;
  struct gosym_piece* before = count ? piece_at(pieces, count - 1) : 0;
  if (before)
    before->end = end;
  else
    pieces->own_end = end;
  *piece = (struct gosym_piece){.place = place,
                                .frame = frame,
                                .offset = GOSYM_NO_WORDS,
                                .start = sample->user_depth,
                                .is_of_goroutine = is_of_goroutine};
  pieces->count = count + 1;
  return true;
}
