/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Rings and counters that samples go to.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "sample.h"
#include "scratch.h"

// Set before the program is loaded.
const volatile __u32 ring_size = GOSYM_MIN_RING_SIZE;
const volatile __u32 cpu_count = 1;  // that the machine may have

// Counters of the first event by CPU, then of the second, ...; the sampler sets their number.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct gosym_counters);
} counters SEC(".maps");

struct ring {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, GOSYM_MIN_RING_SIZE);
};

// A ring per CPU: in NMI a ring that another CPU holds locked refuses the record. The sampler
// sets the number of CPUs and puts the rings in.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, __u32);
  __array(values, struct ring);
} rings SEC(".maps");

// The reader comes by itself often enough; it is woken only when a ring fills faster. `tick` is
// the time that a sample stands for where its weight is 0; 0: the event counts no time, and a
// sample that is lost none either.
static __always_inline void output(struct gosym_sample* sample, struct gosym_counters* counts,
                                   __u64 tick) {
  __u32 cpu = sample->cpu;
  void* ring = bpf_map_lookup_elem(&rings, &cpu);
  if (!ring)
    return;
  __u64 size = __builtin_offsetof(struct gosym_sample, stack) + size_before_top(sample) +
               sample->top_size + sample->far_size +
               sizeof(struct gosym_piece) * sample->piece_count +
               sizeof(struct gosym_passed) * sample->passed_count;
  if (size > sizeof(*sample))
    return;
  bool is_filling = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_size / 2;
  __u64 flags = is_filling ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
  if (bpf_ringbuf_output(ring, sample, size, flags) == 0) {
    __sync_fetch_and_add(&counts->stored, 1);
  } else {
    __sync_fetch_and_add(&counts->lost, 1);
    __sync_fetch_and_add(&counts->lost_ns, tick && sample->weight ? sample->weight : tick);
  }
}
