/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Return addresses that the chain of frame pointers may have passed over.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "sample.h"
#include "scratch.h"

struct passed_callers {
  __u64 count;
  struct gosym_passed all[GOSYM_MAX_PASSED];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct passed_callers);
} passed_callers SEC(".maps");

static __always_inline struct passed_callers* current_passed(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&passed_callers, &zero);
}

// Notes one above the last frame that was appended. False if it is none of Go code, or if there
// are too many. The compiler would add to the address before it checks the count.
static __always_inline bool append_passed(__u64 address) {
  struct gosym_sample* sample = scratch_sample();
  struct passed_callers* passed = current_passed();
  if (!sample || !passed || address - sample->code >= sample->code_size)
    return false;
  __u64 count = passed->count;
  asm volatile("" : "+r"(count));
  if (count >= GOSYM_MAX_PASSED)
    return false;
  passed->all[count] = (struct gosym_passed){sample->user_depth, address};
  passed->count = count + 1;
  return true;
}
