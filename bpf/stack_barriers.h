/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Return addresses of a goroutine that the collector of Go 1.5 to 1.8 has replaced, by that of
// runtime.stackBarrier, to notice when they are returned to. It keeps in g a slice of what was
// there, from the top of the stack on.

#include "far_words.h"
#include "scratch.h"
#include "user_memory.h"

struct stack_barriers {
  __u64 begin;
  __u64 count;
  __u64 capacity;
  __u64 passed;  // so many were returned to
};

struct stack_barrier {
  __u64 place;
  __u64 return_address;
};

// Notes of the next one where it is; beyond all places if there is none. Calls are as deep here
// as the verifier allows: no function is called.
static __always_inline void look_at_barrier(struct gosym_sample* sample) {
  if (sample->barrier >= sample->barriers_end ||
      bpf_probe_read_user(&sample->barrier_place, 8, (void*)sample->barrier))
    sample->barrier_place = ~0ull;
}

static __always_inline void pass_barrier(struct gosym_sample* sample) {
  sample->barrier += sizeof(struct stack_barrier);
  look_at_barrier(sample);
}

// Before a walk over the stack of a goroutine: `at` is the address of what is kept.
__noinline __u64 find_barriers(__u64 at) {
  struct gosym_sample* sample = scratch_sample();
  struct stack_barriers barriers;
  if (!sample || bpf_probe_read_user(&barriers, sizeof(barriers), (void*)at))
    return 0;
  sample->barrier = barriers.begin + sizeof(struct stack_barrier) * barriers.passed;
  sample->barriers_end = barriers.begin + sizeof(struct stack_barrier) * barriers.count;
  look_at_barrier(sample);
  return 0;
}

// The return address of a place that is not below the next barrier's, where `address` lies.
// Places come upwards, and one at most was left out since the last: that of a leaf.
__noinline __u64 return_address_at(__u64 place, __u64 address) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return address;
  if (sample->barrier_place < place)
    pass_barrier(sample);
  if (sample->barrier_place == place) {
    bpf_probe_read_user(&address, sizeof(address), (void*)(sample->barrier + 8));
    pass_barrier(sample);
  }
  return address;
}

// Puts the return address of the next barrier into the words that were taken of the stack,
// which lies so many bytes further up than they do in the sample. It goes to the far words if
// the top does not reach there; a place that is not among the words at all is left to the
// reader, who refuses its offset.
__noinline __u64 restore_return_address(__u64 place, __u64 distance) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  __u64 offset = place - distance;
  __u64 address = read_word(sample->barrier + 8);
  if (offset >= sample->top_size)
    append_far_word(offset, address);
  else
    put_word(sample, size_before_top(sample) + offset, address);
  return 0;
}

// Begins anew with the first barrier, as the walk along the frame pointers has passed them.
// Beyond the limit the words keep the address of runtime.stackBarrier.
__noinline __u64 restore_return_addresses(__u64 barriers, __u64 distance) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  find_barriers(barriers);
  for (int i = 0; i < GOSYM_MAX_STACK_BARRIERS; i++) {
    __u64 place = sample->barrier_place;
    if (place == ~0ull)
      break;
    restore_return_address(place, distance);
    pass_barrier(sample);
  }
  return 0;
}
