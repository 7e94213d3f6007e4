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

struct thread_struct {
#if defined(__TARGET_ARCH_x86)
  unsigned long fsbase;
#else
  struct {
    unsigned long tp_value;
  } uw;
#endif
};

struct mm_struct {
  unsigned long start_stack;  // of the process's first thread
  unsigned long start_code;   // of its program
  unsigned long end_code;
  unsigned long mmap_base;  // what is mapped where the kernel likes lies below
};

struct cfs_rq {
  int throttle_count;  // of it and those above it, that are throttled
};

struct sched_entity {
  __u64 sum_exec_runtime;       // nanoseconds, up to the last look of the scheduler
  __u64 prev_sum_exec_runtime;  // when the thread came to its CPU
  struct cfs_rq* cfs_rq;
};

struct kernfs_node {
  __u64 id;
};

struct cgroup {
  struct kernfs_node* kn;
};

struct css_set {
  struct cgroup* dfl_cgrp;  // of cgroup v2
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
  unsigned int __state;
  int on_cpu;
  bool throttled;  // since Linux 6.18
  struct sched_entity se;
  struct css_set* cgroups;
};

// Before Linux 5.14.
struct task_struct___old {
  long state;
};

struct seq_file {
  unsigned long size;   // of its buffer
  unsigned long count;  // bytes in it
};

struct bpf_iter_meta {
  struct seq_file* seq;
};

struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
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
  unsigned long orig_ax;  // the number of the system call; negative: it is in none
  unsigned long ip;
  unsigned long sp;
#elif defined(__TARGET_ARCH_arm64)
  __u64 regs[31];
  __u64 sp;
  __u64 pc;
  __s32 syscallno;  // negative: it is in no system call
#endif
};

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000  // include/linux/sched.h

// The address of a thread's thread-local storage.
#if defined(__TARGET_ARCH_x86)
#define THREAD_POINTER(task) BPF_CORE_READ(task, thread.fsbase)
#else
#define THREAD_POINTER(task) BPF_CORE_READ(task, thread.uw.tp_value)
#endif
