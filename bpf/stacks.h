/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The stacks of the current task, with what belongs to them.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "handler_stack.h"
#include "labels.h"
#include "registers.h"
#include "sample.h"
#include "stack_top.h"
#include "user_stack.h"

// Set before the program is loaded.
const volatile __u8 has_user = 1;
const volatile __u8 has_kernel = 1;
const volatile __u8 has_goroutines = 1;

static __always_inline void take_kernel_stack(void* ctx, struct gosym_sample* sample) {
  __u32 depth = sample->user_depth;
  if (depth > GOSYM_MAX_USER_FRAMES)  // never; the verifier wants to hear it
    return;
  long size = bpf_get_stack(ctx, &sample->stack[depth], GOSYM_MAX_KERNEL_FRAMES * 8, 0);
  if (size > 0)
    sample->kernel_depth = (__u32)size / 8;
}

// The place where the goroutine was created whose root the stack ends at; 0: not known.
static __always_inline __u64 find_creator(const struct gosym_sample* sample,
                                          const struct gosym_go_program* program,
                                          const struct goroutine* goroutine) {
  if (!program || !goroutine->address || !program->g_created_at || !reaches_goexit(sample))
    return 0;
  return read_word(goroutine->address + program->g_created_at);
}

// `ctx` is the program's own. The registers are those of user code, with an ip of 0 where there
// is none. Parts are taken in the order in which gosym_sample has them in `stack`: the place of
// each is counted by the depths and sizes of those before.
static __always_inline void take_stacks(void* ctx, struct gosym_sample* sample,
                                        struct registers registers, bool is_in_kernel) {
  __u32 pid = sample->pid;
  if (!has_user)
    registers = (struct registers){};
  registers.fp = above_red_zone(registers.fp, registers.sp);
  struct gosym_go_program* program =
      has_goroutines && registers.ip ? bpf_map_lookup_elem(&go_programs, &pid) : 0;
  __u32 zero = 0;
  struct goroutine* goroutine = bpf_map_lookup_elem(&current_goroutine, &zero);
  if (!goroutine)
    return;
  *goroutine = (struct goroutine){};
  if (program)
    find_goroutine(program, registers, goroutine);
  take_user_stack(sample, registers, program, goroutine);
  sample->creator = find_creator(sample, program, goroutine);
  sample->kernel_depth = 0;
  if (is_in_kernel && has_kernel)
    take_kernel_stack(ctx, sample);
  sample->label_count = 0;
  sample->goid = 0;
  if (program && goroutine->address) {
    if (program->g_goid)
      sample->goid = read_word(goroutine->address + program->g_goid);
    if (program->g_labels)
      take_labels(read_word(goroutine->address + program->g_labels), program->has_label_map);
  }
  struct handler_stack handler = find_handler_stack(sample->user_depth ? registers.sp : 0);
  take_top(sample, goroutine, &handler);
}
