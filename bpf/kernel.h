/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The parts of the kernel's own types that we read. libbpf finds where the running kernel has
// each field (CO-RE), so neither the order nor what is left out matters. What follows "___" in
// a name is not part of it.

// By this name the skeleton can be used from C++.
typedef _Bool bool;
#define true 1
#define false 0

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  int counter;
} atomic_t___gosym;

struct signal_struct {
  atomic_t___gosym live;  // threads that have not begun to exit
};

// On x86-64; arm64 has it elsewhere.
struct thread_struct {
  unsigned long fsbase;
};

struct mm_struct {
  unsigned long start_stack;  // of the process's first thread
};

struct task_struct {
  int pid;   // of the thread
  int tgid;  // of the process
  unsigned int flags;
  unsigned int in_execve : 1;
  void* stack;
  struct mm_struct* mm;
  struct signal_struct* signal;
  unsigned long sas_ss_sp;  // the stack that the thread has for signal handlers
  unsigned long sas_ss_size;
  struct thread_struct thread;
};

// UAPI has a pt_regs of its own, with other names.
struct pt_regs___kernel {
#if defined(__TARGET_ARCH_x86)
  unsigned long r15;
  unsigned long r14;
  unsigned long r13;
  unsigned long r12;
  unsigned long bp;
  unsigned long bx;
  unsigned long r11;
  unsigned long r10;
  unsigned long r9;
  unsigned long r8;
  unsigned long ax;
  unsigned long cx;
  unsigned long dx;
  unsigned long si;
  unsigned long di;
  unsigned long ip;
  unsigned long sp;
#elif defined(__TARGET_ARCH_arm64)
  __u64 regs[31];
  __u64 sp;
  __u64 pc;
#endif
};

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000  // include/linux/sched.h
