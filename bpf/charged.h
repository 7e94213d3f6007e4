/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// CPU time that threads of targets had used when they ended, as the kernel charged it to them.
// When a thread exits, the time since the scheduler's last look at it is not in that yet, which
// is most of a short life; when its task is freed, some milliseconds later, all is.

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "sample.h"

__u64 ended_ns;  // of those that are freed

// Threads whose last slice is not counted yet, by the address of their task.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GOSYM_MAX_ENDING);
  __type(key, __u64);
  __type(value, struct gosym_ending);
} ending SEC(".maps");

// A thread for which there is no room counts at once, without its last slice.
static __always_inline void note_end(struct task_struct* task, __u32 tid) {
  __u64 key = (__u64)task;
  struct gosym_ending end = {.tid = tid, .ran = BPF_CORE_READ(task, se.sum_exec_runtime)};
  if (bpf_map_update_elem(&ending, &key, &end, BPF_ANY))
    __sync_fetch_and_add(&ended_ns, end.ran);
}

// Only threads that note_end() has noted are there: tasks of others are freed as well.
static __always_inline void count_ended(struct task_struct* task) {
  __u64 key = (__u64)task;
  if (bpf_map_delete_elem(&ending, &key) == 0)
    __sync_fetch_and_add(&ended_ns, BPF_CORE_READ(task, se.sum_exec_runtime));
}
