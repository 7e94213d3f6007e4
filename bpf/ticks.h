/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The ticks of a clock. One timer at the rate that is asked for would lock to programs that
// sleep shortly, as the interrupt of its tick also wakes whoever is due. So a clock has up to
// GOSYM_TIMERS slow ones on each CPU, of that rate together, whose periods have no common
// measure. They have no tick for a while after the start, and come in bursts at first: until
// then another timer ticks for them, at the full rate.
//
// Some ticks do not come. The kernel leaves out those that are due while it still works on the
// one before, or while interrupts wait, and tells nobody.

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "sample.h"

// Nanoseconds from one tick of each event to the next, of all its timers: what a sample stands
// for; 0: it is no clock. The sampler sets these before the first tick.
__u64 tick_ns[GOSYM_MAX_EVENTS];

// Nanoseconds for which the first timer of an event ticks for the others, from its first tick
// on.
__u64 first_timer_ns[GOSYM_MAX_EVENTS];

// When a machine was stopped for longer no ticks were due.
#define GOSYM_MAX_STANDSTILL 1000000000

struct tick {
  __u64 due;        // ticks of this timer since the last that came, this one included
  __u64 period;     // of the timer
  bool is_counted;  // it is not one that another timer ticks for
};

// The periods of the slow timers end in their numbers.
static __always_inline __u32 timer_of(__u64 period, bool is_first) {
  return is_first ? GOSYM_TIMERS : period % GOSYM_TIMERS;
}

// Ticks are due at equal distances, however late they come: so the last one is noted for when
// it was due, or lateness would add up. One that comes too early is of a timer that was started
// anew, and is counted from.
static __always_inline __u64 take_due(__u64* last_tick, __u64 period, __u64 now) {
  __u64 distance = now - *last_tick;
  bool is_unknown = !*last_tick || distance > period + GOSYM_MAX_STANDSTILL;
  if (is_unknown || now < *last_tick + period) {
    *last_tick = now;
    return 1;
  }
  __u64 due = distance / period;
  *last_tick += due * period;
  return due;
}

// The first timer's ticks count until the handover, those of the slow timers from then on. Its
// last tick is due exactly at the handover, as first_timer_ns is a number of whole ticks: half
// a tick more lets that one count even if it is a little late.
static __always_inline bool is_counted(struct gosym_counters* counts, __u32 event,
                                       bool is_first, __u64 now) {
  if (is_first && !counts->handover)
    counts->handover = now + first_timer_ns[event];
  return is_first ? now < counts->handover + tick_ns[event] / 2
                  : counts->handover && now >= counts->handover;
}

// `period` is the timer's, or how many events another event counts from one sample to the next.
static __always_inline struct tick take_tick(struct gosym_counters* counts, __u32 event,
                                             __u64 period, __u64 now) {
  struct tick tick = {.due = 1, .period = period, .is_counted = true};
  if (!tick_ns[event] || !period)
    return tick;
  bool is_first = period == tick_ns[event];
  tick.due = take_due(&counts->last_ticks[timer_of(period, is_first)], period, now);
  tick.is_counted = is_counted(counts, event, is_first, now);
  return tick;
}

// Ticks that did not come while the current thread ran: no more than fit into the time that it
// has run without a break. Others that did not come were due while the CPU was idle, or in the
// time of somebody else.
static __always_inline __u64 own_missing_ticks(struct tick tick) {
  if (tick.due <= 1)
    return 0;
  struct task_struct* task = (void*)bpf_get_current_task();
  __u64 ran =
      BPF_CORE_READ(task, se.sum_exec_runtime) - BPF_CORE_READ(task, se.prev_sum_exec_runtime);
  __u64 fitting = ran / tick.period;
  return fitting < tick.due - 1 ? fitting : tick.due - 1;
}

// Events that a sample stands for; 0: a single tick of a clock.
static __always_inline __u64 weight_of_tick(__u32 event, __u64 missing, struct tick tick) {
  if (!tick_ns[event])
    return tick.period;
  return missing ? (1 + missing) * tick_ns[event] : 0;
}
