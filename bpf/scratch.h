/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Room in which a sample is put together: it is too large for the BPF stack, and for an array
// per CPU, whose values end at 32 KiB.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "sample.h"

// The sampler sets the number of CPUs.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct gosym_sample);
} scratch SEC(".maps");

static __always_inline struct gosym_sample* scratch_sample(void) {
  __u32 cpu = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&scratch, &cpu);
}

static __always_inline void set_stack_pointer(struct gosym_sample* sample, __u64 place) {
  sample->misaligned = GOSYM_BELOW_STACK + (place & 7);
  sample->stack_pointer = place - sample->misaligned;
}

// Bytes of the stack that the sample has before the words of the top.
static __always_inline __u64 size_before_top(const struct gosym_sample* sample) {
  return 8 * ((__u64)sample->user_depth + sample->kernel_depth) +
         sizeof(struct gosym_label) * sample->label_count;
}

// Puts a word into the stack that the sample has, so many bytes from its begin.
static __always_inline void put_word(struct gosym_sample* sample, __u64 at, __u64 word) {
  // The bound has to be that of the register which is added.
  asm volatile("" : "+r"(at));
  if (at <= sizeof(sample->stack) - 8)
    *(__u64*)((char*)sample->stack + (at & ~7ull)) = word;
}

// Set before the program is loaded: the most frames that a walk passes.
const volatile __u32 max_walk = GOSYM_MAX_WALK;

// Index at which the frame with this number is kept.
static __always_inline __u64 place_of_frame(__u64 number) {
  if (number < GOSYM_INNER_FRAMES)
    return number;
  return GOSYM_INNER_FRAMES + ((number - GOSYM_INNER_FRAMES) & (GOSYM_OUTER_FRAMES - 1));
}

// False if the stack is too deep. The number is hidden from the compiler, which would derive it
// from other variables in ways that the verifier cannot follow.
static __always_inline bool append_to(struct gosym_sample* sample, __u64 address) {
  __u64 depth = sample->user_depth;
  asm volatile("" : "+r"(depth));
  if (depth >= max_walk)
    return false;
  sample->stack[place_of_frame(depth)] = address;
  sample->user_depth = depth + 1;
  return true;
}

// For calls that are made once, not for each frame: the verifier looks at the function once.
__noinline bool append(__u64 address) {
  struct gosym_sample* sample = scratch_sample();
  return sample && append_to(sample, address);
}
