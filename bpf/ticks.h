/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Which ticks of a clock did not come. The kernel leaves out those that are due while it still
// works on the one before, or while interrupts wait, and tells nobody.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "sample.h"

// Nanoseconds from one tick of each event to the next; 0: it is no clock. The sampler sets them
// before the first tick.
__u64 tick_ns[GOSYM_MAX_EVENTS];

// Who runs at a tick ran at those before as well if they are not further away: no time slice of
// the kernel's scheduler is much shorter, and no sampling takes as long.
#define GOSYM_MAX_TICK_GAP 10000000

// When a machine was stopped for longer no ticks were due.
#define GOSYM_MAX_STANDSTILL 1000000000

// How many ticks were due since the last one, this one included. They are due at equal
// distances, however late they come: `last_tick` is the time when the last was due.
static __always_inline __u64 take_tick(struct gosym_counters* counts, __u64 tick, __u64 now) {
  __u64 distance = now - counts->last_tick;
  if (!tick || now < counts->last_tick + tick || distance > GOSYM_MAX_STANDSTILL) {
    counts->last_tick = now;
    return 1;
  }
  __u64 due = distance / tick;
  counts->last_tick += due * tick;
  return due;
}

// Nanoseconds that a sample stands for, after so many ticks; 0: of one.
static __always_inline __u64 time_of_ticks(__u64 due, __u64 tick) {
  __u64 time = due * tick;
  return due > 1 && time <= GOSYM_MAX_TICK_GAP ? time : 0;
}
