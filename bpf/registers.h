/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The registers of user code.

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel.h"
#include "sample.h"
#include "user_memory.h"

// On x86-64 and arm64 the kernel has the upper half of the address space.
static __always_inline bool is_kernel_address(__u64 address) {
  return (__s64)address < 0;
}

// Set before the program is loaded: bytes of a thread's stack in the kernel, unless that was built
// to find its own memory errors.
const volatile __u32 kernel_stack_size = 16384;

// Before bpf_task_pt_regs (Linux 5.15): the registers lie at the end of the kernel stack.
static __always_inline void* registers_by_layout(struct task_struct* task) {
  return BPF_CORE_READ(task, stack) + kernel_stack_size -
         bpf_core_type_size(struct pt_regs___kernel);
}

// The registers with which another task entered the kernel.
static __always_inline struct pt_regs___kernel* registers_of_task(struct task_struct* task) {
  if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
    return (void*)bpf_task_pt_regs((void*)task);
  return registers_by_layout(task);
}

// The registers with which the current task entered the kernel.
static __always_inline struct pt_regs___kernel* saved_registers(struct task_struct* task) {
  if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
    return (void*)bpf_task_pt_regs((void*)bpf_get_current_task_btf());
  return registers_by_layout(task);
}

static __always_inline struct registers read_registers(struct pt_regs___kernel* saved) {
#if defined(__TARGET_ARCH_x86)
  return (struct registers){BPF_CORE_READ(saved, ip), BPF_CORE_READ(saved, sp),
                            BPF_CORE_READ(saved, bp), BPF_CORE_READ(saved, r12)};
#else
  return (struct registers){BPF_CORE_READ(saved, pc), BPF_CORE_READ(saved, sp),
                            BPF_CORE_READ(saved, regs[29])};
#endif
}

// A kernel thread has no user stack, and a task within exec has none that can be believed: its
// registers are still those of the old program, and the memory is the new one's.
static __always_inline bool lacks_user_stack(struct task_struct* task) {
  bool is_in_exec =
      bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
  return is_in_exec || (BPF_CORE_READ(task, flags) & PF_KTHREAD) || !BPF_CORE_READ(task, mm);
}

// The general registers of user code that called the kernel, or was interrupted by it.
static __always_inline void take_saved_registers(struct pt_regs___kernel* saved,
                                                 struct gosym_sample* sample) {
#if defined(__TARGET_ARCH_x86)
  bpf_probe_read_kernel(sample->registers, sizeof(sample->registers), &saved->r15);
#else
  bpf_probe_read_kernel(sample->registers, sizeof(sample->registers), &saved->regs);
#endif
}

// Takes the registers of user code that was interrupted by the tick.
static __always_inline void take_registers(struct bpf_perf_event_data* ctx,
                                           struct gosym_sample* sample) {
#if defined(__TARGET_ARCH_x86)
  sample->registers[0] = ctx->regs.r15;
  sample->registers[1] = ctx->regs.r14;
  sample->registers[2] = ctx->regs.r13;
  sample->registers[3] = ctx->regs.r12;
  sample->registers[4] = ctx->regs.rbp;
  sample->registers[5] = ctx->regs.rbx;
  sample->registers[6] = ctx->regs.r11;
  sample->registers[7] = ctx->regs.r10;
  sample->registers[8] = ctx->regs.r9;
  sample->registers[9] = ctx->regs.r8;
  sample->registers[10] = ctx->regs.rax;
  sample->registers[11] = ctx->regs.rcx;
  sample->registers[12] = ctx->regs.rdx;
  sample->registers[13] = ctx->regs.rsi;
  sample->registers[14] = ctx->regs.rdi;
#else
#pragma unroll
  for (int i = 0; i < GOSYM_REGISTERS; i++)
    sample->registers[i] = ctx->regs.regs[i];
#endif
}
