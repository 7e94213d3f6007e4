/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// What the BPF program and the sampler share.

#include <linux/types.h>

// Deeper stacks are cut at the root's end. The Go runtime itself prints at most 100 frames of a
// stack and C programs rarely pass 500; a walk of 1024 took 50 us where it was measured.
#define GOSYM_MAX_USER_FRAMES 1024

// How often a walk may go on at a lower address: from the stack of a signal handler to that of
// Go's scheduler, and from there to a goroutine's.
#define GOSYM_MAX_STACK_SWITCHES 2

// The kernel's own limit for bpf_get_stack (kernel.perf_event_max_stack).
#define GOSYM_MAX_KERNEL_FRAMES 127

// Bytes of a stack that can be taken along, from the stack pointer on.
#define GOSYM_MAX_TOP_SIZE (32 * 1024)

// Bytes of one CPU's ring. At 99 Hz a CPU fills it in more than 8 seconds even with stacks of
// 60 frames, so a reader that comes every 50 ms may be late by a lot.
#define GOSYM_RING_SIZE (512 * 1024)

// Processes that can be followed at once: the kernel's default for pid_max.
#define GOSYM_MAX_TARGETS 32768

// The values of StackEnd (profile/recording.h).
enum gosym_stack_end {
  GOSYM_END_ROOT = 0,
  GOSYM_END_UNREADABLE = 1,
  GOSYM_END_BAD_FRAME = 2,
  GOSYM_END_LIMIT = 3,
};

// A record in a ring: as long as its stacks need. `stack` holds user_depth user addresses, then
// kernel_depth kernel addresses, each innermost first, then the top_size bytes of the user's
// stack that begin at its stack pointer.
struct gosym_sample {
  __u64 time;  // CLOCK_MONOTONIC
  __u32 pid;
  __u32 tid;
  __u32 cpu;
  __u32 user_end;  // enum gosym_stack_end
  __u32 user_depth;
  __u32 kernel_depth;
  __u32 stack_switches;  // a local variable of the walk: here the verifier forgets its value
  __u32 top_size;
  __u64 stack_pointer;  // of the user code; so is the frame pointer
  __u64 frame_pointer;
  __u64 stack[GOSYM_MAX_USER_FRAMES + GOSYM_MAX_KERNEL_FRAMES + GOSYM_MAX_TOP_SIZE / 8];
};

struct gosym_counters {
  __u64 stored;
  __u64 lost;        // no room in the ring
  __u64 unfollowed;  // children beyond GOSYM_MAX_TARGETS
};
