/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The stack that a thread has for signal handlers (sigaltstack), and what was interrupted by
// the first of those that run on it.

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "sample.h"
#include "user_memory.h"

// Set before the program is loaded: bytes of the state of the FPU; 0: no further one.
const volatile __u32 fpu_sizes[GOSYM_FPU_SIZES] = {};

struct handler_stack {
  __u64 end;          // 0: the thread is not on it
  __u64 interrupted;  // stack pointer; 0: not known
};

#if defined(__TARGET_ARCH_x86)
// Frame that the kernel puts on the stack, at its end (struct rt_sigframe of Linux, from the
// ucontext on).
struct signal_frame {
  __u64 flags;
  __u64 link;
  __u64 stack;  // the stack that the frame lies on, as sigaltstack was told
  __u64 stack_flags;
  __u64 stack_size;
  __u64 registers[15];
  __u64 stack_pointer;
};
#define SIGNAL_FRAME_SIZE 440  // of all of it, with the return address in front

// Above the frame lies the state of the FPU, aligned to 64 bytes. Its size differs by thread
// and machine, so each that is possible is tried: a frame has the stack that sigaltstack was
// told, which other words at its place do not.
__noinline __u64 find_interrupted(__u64 stack, __u64 size) {
  for (int i = 0; i < GOSYM_FPU_SIZES; i++) {
    if (!fpu_sizes[i])
      break;
    struct signal_frame frame;
    __u64 at = (((stack + size - fpu_sizes[i]) & ~63ull) - SIGNAL_FRAME_SIZE) & ~15ull;
    if (!bpf_probe_read_user(&frame, sizeof(frame), (void*)at) && frame.stack == stack &&
        frame.stack_size == size && !(frame.stack_pointer & 7))
      return frame.stack_pointer;
  }
  return 0;
}
#endif

// The thread is on it if the stack pointer lies there; one that has none has a size of 0.
static __always_inline struct handler_stack find_handler_stack(__u64 stack_pointer) {
  struct handler_stack found = {};
#if defined(__TARGET_ARCH_x86)
  struct task_struct* task = (void*)bpf_get_current_task();
  __u64 begin = BPF_CORE_READ(task, sas_ss_sp);
  __u64 size = BPF_CORE_READ(task, sas_ss_size);
  if (stack_pointer - begin >= size)
    return found;
  found.end = begin + size;
  found.interrupted = find_interrupted(begin, size);
#endif
  return found;
}
