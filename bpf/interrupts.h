/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Tells if the current thread was interrupted by what runs now.
//
// The count of the kernel that tells it (preempt_count) is in reach of BPF only where
// /proc/kallsyms lists variables. Without it: interrupts have a stack of their own, but for
// those that come in user code on x86-64, and then the thread is in no system call.

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "registers.h"

static __always_inline bool is_in_system_call(struct task_struct* task) {
  struct pt_regs___kernel* saved = saved_registers(task);
#if defined(__TARGET_ARCH_x86)
  return (long)BPF_CORE_READ(saved, orig_ax) >= 0;
#else
  return BPF_CORE_READ(saved, syscallno) >= 0;
#endif
}

// A kernel that looks for errors of its own has stacks of twice the size. No other stack lies
// as near. `room` is in a map: from there the verifier lets an address come back as a number.
// The idle thread, number 0, does nothing by itself that wakes another: it was interrupted.
static __always_inline bool is_in_interrupt(volatile __u64* room) {
  struct task_struct* task = (void*)bpf_get_current_task();
  __u64 here;
  *room = (__u64)&here;
  if (BPF_CORE_READ(task, pid) == 0 ||
      *room - (__u64)BPF_CORE_READ(task, stack) >= 2 * (__u64)kernel_stack_size)
    return true;
  return !(BPF_CORE_READ(task, flags) & PF_KTHREAD) && !is_in_system_call(task);
}
