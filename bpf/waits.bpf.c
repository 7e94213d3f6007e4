// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// Takes a sample of threads that were on no CPU for a time, when they are on one again: only
// then it is known for how long, and the stack is still the one at which they left.
//
// Up to when it was woken, a thread has slept; from then on it has waited for a CPU. Each of
// the two is an interval with a sample of its own: with a probability that grows with its
// length, and a weight that is never less than the threshold, so that the sum of the weights is
// that of the times.
//
// A process has samples up to a rate: beyond it its threshold is doubled, and so the weight of
// its samples, until it keeps to the rate. Sums stay right, for chance decides by the threshold
// that is in force then, and the weight is by the same.
//
// A BPF object of its own, for the kernels that lack what it needs.

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "interrupts.h"
#include "kernel.h"
#include "output.h"
#include "registers.h"
#include "sample.h"
#include "stacks.h"
#include "targets.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

// Set before the program is loaded.
const volatile __u32 wait_event = 0;        // index of the event
const volatile __u64 threshold = 10000000;  // nanoseconds, at most a second
const volatile __u8 switch_has_state = 0;   // the trace point tells it: since Linux 5.18

__u8 is_on;       // samples are to be taken
__u64 untracked;  // threads beyond GOSYM_MAX_WAITS

// A process may have so many samples in a span of so many nanoseconds: the sampler sets them.
__u32 most_in_span = 100;
__u64 span = 100000000;

// By thread.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GOSYM_MAX_WAITS);
  __type(key, __u32);
  __type(value, struct gosym_wait);
} waits SEC(".maps");

// By process. Of any number of processes the busy ones stay.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, GOSYM_MAX_WAIT_RATES);
  __type(key, __u32);
  __type(value, struct gosym_wait_rate);
} rates SEC(".maps");

// include/linux/sched.h
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define TASK_PARKED 0x40
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200
#define TASK_NOLOAD 0x400
#define TASK_RTLOCK_WAIT 0x1000

static __always_inline __u64 kernel_state(struct task_struct* task) {
  if (bpf_core_field_exists(task->__state))
    return BPF_CORE_READ(task, __state);
  struct task_struct___old* old = (void*)task;
  return BPF_CORE_READ(old, state);
}

// Since Linux 6.18 it is threads that are throttled; before, all of their queue.
static __always_inline bool is_throttled(struct task_struct* task) {
  if (bpf_core_field_exists(task->throttled) && BPF_CORE_READ(task, throttled))
    return true;
  struct cfs_rq* queue = 0;
  if (bpf_core_field_exists(task->se.cfs_rq))
    queue = BPF_CORE_READ(task, se.cfs_rq);
  return queue && bpf_core_field_exists(queue->throttle_count) &&
         BPF_CORE_READ(queue, throttle_count) > 0;
}

static __always_inline __u32 state_of_waiting(struct task_struct* task) {
  return is_throttled(task) ? GOSYM_STATE_THROTTLED : GOSYM_STATE_WAITING_FOR_CPU;
}

// A state is a set of bits, and the kernel's names stand for several of them: so those that
// mean more come first. Without any of them the thread could run on.
static __always_inline __u32 state_of(struct task_struct* task, __u64 state) {
  if (state & TASK_STOPPED)
    return GOSYM_STATE_STOPPED;
  if (state & TASK_TRACED)
    return GOSYM_STATE_TRACING_STOP;
  if (state & TASK_PARKED)
    return GOSYM_STATE_PARKED;
  if ((state & TASK_UNINTERRUPTIBLE) && (state & TASK_NOLOAD))
    return GOSYM_STATE_IDLE;
  if (state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT))
    return GOSYM_STATE_DISK_SLEEP;
  // Somebody wakes it already, and what it slept in is not known any more.
  if (state & (TASK_INTERRUPTIBLE | TASK_WAKING))
    return GOSYM_STATE_SLEEPING;
  return state_of_waiting(task);
}

// The current thread is the one that leaves. `left` is set last: until then wake(), which may
// run on another CPU, takes the thread for one that is on its CPU, and notes nothing.
SEC("raw_tp/sched_switch")
int leave_cpu(struct bpf_raw_tracepoint_args* ctx) {
  __u64 pid_tgid = bpf_get_current_pid_tgid();
  __u32 tid = (__u32)pid_tgid;
  if (!is_on || tid == 0)
    return 0;
  struct task_struct* task = (void*)ctx->args[1];
  bool is_preempted = ctx->args[0];
  __u64 state = is_preempted ? 0 : switch_has_state ? ctx->args[3] : kernel_state(task);
  if (state & TASK_DEAD) {
    bpf_map_delete_elem(&waits, &tid);
    return 0;
  }
  struct gosym_wait* wait = bpf_map_lookup_elem(&waits, &tid);
  if (!wait) {
    if (!is_target(pid_tgid >> 32, tid))
      return 0;
    struct gosym_wait first = {.left = bpf_ktime_get_ns(), .state = state_of(task, state)};
    if (bpf_map_update_elem(&waits, &tid, &first, BPF_ANY))
      __sync_fetch_and_add(&untracked, 1);
    return 0;
  }
  wait->woken = 0;
  wait->waker = 0;
  wait->waker_comm[0] = 0;
  wait->state = state_of(task, state);
  wait->left = bpf_ktime_get_ns();
  return 0;
}

// The current thread is the one that wakes another, unless it was only interrupted by what
// does.
SEC("raw_tp/sched_waking")
int wake(struct bpf_raw_tracepoint_args* ctx) {
  if (!is_on)
    return 0;
  struct task_struct* task = (void*)ctx->args[0];
  __u32 tid = BPF_CORE_READ(task, pid);
  struct gosym_wait* wait = bpf_map_lookup_elem(&waits, &tid);
  if (!wait || !wait->left || wait->woken || wait->state >= GOSYM_STATE_WAITING_FOR_CPU)
    return 0;
  wait->woken = bpf_ktime_get_ns();
  wait->waker = GOSYM_INTERRUPT;
  if (is_in_interrupt(&wait->waker_stack))
    return 0;
  wait->waker = bpf_get_current_pid_tgid() >> 32;
  bpf_get_current_comm(wait->waker_comm, sizeof(wait->waker_comm));
  return 0;
}

// No rate is to be kept to where each wait is asked for.
static __always_inline bool is_bounded(void) {
  return threshold > 1;
}

// Times that the threshold of a process is doubled now: it is halved again with each span in
// which the process had at most half of the samples that it may have. Two CPUs at once may
// halve it twice, as they may double it twice below: chance still decides by what each of them
// saw.
static __always_inline __u32 doublings_of(__u32 pid, __u64 now) {
  struct gosym_wait_rate* rate = is_bounded() ? bpf_map_lookup_elem(&rates, &pid) : 0;
  if (!rate)
    return 0;
  // Signed: another CPU may have begun the span a little after this `now`.
  __u64 since = now - rate->begin;
  __u32 doublings = rate->doublings;
  if ((__s64)since >= (__s64)span) {
    __u64 spans = since / span;
    if (rate->count >= most_in_span / 2 + 1)
      spans--;
    rate->doublings = doublings = spans < doublings ? doublings - spans : 0;
    rate->count = 0;
    rate->begin = now;
  }
  return doublings < GOSYM_MAX_DOUBLINGS ? doublings : GOSYM_MAX_DOUBLINGS;
}

// With the last sample that a process may have in a span its threshold is doubled, and the next
// span begins at once. An entry that another CPU makes meanwhile is kept: it is looked up
// again.
static __always_inline void count_sample(__u32 pid, __u64 now) {
  if (!is_bounded())
    return;
  struct gosym_wait_rate* rate = bpf_map_lookup_elem(&rates, &pid);
  if (!rate) {
    struct gosym_wait_rate first = {.begin = now};
    bpf_map_update_elem(&rates, &pid, &first, BPF_NOEXIST);
    rate = bpf_map_lookup_elem(&rates, &pid);
  }
  if (!rate)
    return;
  __sync_fetch_and_add(&rate->count, 1);
  if (rate->count < most_in_span)
    return;
  if (rate->doublings < GOSYM_MAX_DOUBLINGS)
    rate->doublings++;
  rate->count = 0;
  rate->begin = now;
}

static __always_inline bool is_chosen(__u64 length, __u64 least) {
  if (length >= least)
    return true;
  __u64 random = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
  return random % least < length;
}

// Parts of a wait that ends now which have samples.
struct parts {
  __u64 slept;  // nanoseconds; 0: it has none
  __u64 waited;
  __u32 doublings;  // of the threshold by which they were chosen
};

// A thread that went to sleep slept until it was woken, or until now if nobody did that. The
// rest, and all of the time of a thread that was preempted, it waited for a CPU. Both parts are
// chosen by one threshold, though the sample of the first may have raised it.
static __always_inline struct parts choose_parts(const struct gosym_wait* wait, __u32 pid,
                                                 __u64 now) {
  bool has_slept = wait->state < GOSYM_STATE_WAITING_FOR_CPU;
  __u64 end_of_sleep = wait->woken ? wait->woken : now;
  __u64 slept = has_slept ? end_of_sleep - wait->left : 0;
  __u64 waited = now - wait->left - slept;
  struct parts parts = {.doublings = doublings_of(pid, now)};
  __u64 least = threshold << parts.doublings;
  if (slept && is_chosen(slept, least)) {
    parts.slept = slept;
    count_sample(pid, now);
  }
  if (waited && is_chosen(waited, least)) {
    parts.waited = waited;
    count_sample(pid, now);
  }
  return parts;
}

static __always_inline __u64 weight_of(__u64 length, __u32 doublings) {
  __u64 least = threshold << doublings;
  return length > least ? length : least;
}

// Tells who woke the thread, for its sleep and for the wait for a CPU that came of it; a thread
// that was preempted was woken by nobody.
static __always_inline void set_waker(struct gosym_sample* sample,
                                      const struct gosym_wait* wait) {
  sample->waker = wait->waker;
  __builtin_memcpy(sample->waker_comm, wait->waker_comm, sizeof(sample->waker_comm));
}

static __always_inline void set_slept(struct gosym_sample* sample,
                                      const struct gosym_wait* wait, struct parts parts) {
  sample->time = wait->left + parts.slept;
  sample->weight = weight_of(parts.slept, parts.doublings);
  sample->doublings = parts.doublings;
  sample->state = wait->state;
  set_waker(sample, wait);
}

// After a sleep it waited for a CPU; one that was preempted has the state with which it left,
// which may be throttled.
static __always_inline void set_waited(struct gosym_sample* sample,
                                       const struct gosym_wait* wait, struct parts parts,
                                       __u64 now) {
  sample->time = now;
  sample->weight = weight_of(parts.waited, parts.doublings);
  sample->doublings = parts.doublings;
  sample->state =
      wait->state < GOSYM_STATE_WAITING_FOR_CPU ? GOSYM_STATE_WAITING_FOR_CPU : wait->state;
  set_waker(sample, wait);
}

static __always_inline void take_wait(void* ctx, const struct gosym_wait* wait,
                                      struct parts parts, __u64 now) {
  __u64 pid_tgid = bpf_get_current_pid_tgid();
  __u32 cpu = bpf_get_smp_processor_id();
  __u32 counted = wait_event * cpu_count + cpu;
  struct gosym_counters* counts = bpf_map_lookup_elem(&counters, &counted);
  struct gosym_sample* sample = scratch_sample();
  if (!counts || !sample)
    return;
  sample->pid = pid_tgid >> 32;
  sample->tid = (__u32)pid_tgid;
  sample->cpu = cpu;
  sample->event = wait_event;
  sample->cgroup = bpf_get_current_cgroup_id();
  struct task_struct* task = (void*)bpf_get_current_task();
  struct pt_regs___kernel* saved = saved_registers(task);
  bool has_user_stack = has_user && !lacks_user_stack(task);
  if (has_user_stack)
    take_saved_registers(saved, sample);
  take_stacks(ctx, sample, has_user_stack ? read_registers(saved) : (struct registers){}, true);
  if (parts.slept) {
    set_slept(sample, wait, parts);
    output(sample, counts, threshold);
  }
  if (parts.waited) {
    set_waited(sample, wait, parts, now);
    output(sample, counts, threshold);
  }
}

// The current thread has come to a CPU. `left` is taken away before anything else is done, or
// take_open_wait() could report the wait once more.
static __always_inline int come_to_cpu(void* ctx) {
  __u64 pid_tgid = bpf_get_current_pid_tgid();
  __u32 tid = (__u32)pid_tgid;
  struct gosym_wait* wait = is_on && tid ? bpf_map_lookup_elem(&waits, &tid) : 0;
  if (!wait || !wait->left)
    return 0;
  struct gosym_wait ended = *wait;
  wait->left = 0;
  __u64 now = bpf_ktime_get_ns();
  struct parts parts = choose_parts(&ended, pid_tgid >> 32, now);
  if (parts.slept || parts.waited)
    take_wait(ctx, &ended, parts, now);
  return 0;
}

// Since Linux 6.15.
SEC("raw_tp/sched_exit_tp")
int exit_scheduler(struct bpf_raw_tracepoint_args* ctx) {
  bool is_switch = ctx->args[0];
  return is_switch ? come_to_cpu(ctx) : 0;
}

// Before: at finish_task_switch, whatever the compiler has called it.
SEC("kprobe")
int finish_switch(struct pt_regs* ctx) {
  return come_to_cpu(ctx);
}

static __always_inline __u64 cgroup_of(struct task_struct* task) {
  return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

static __always_inline void take_task_stack(struct task_struct* task,
                                            struct gosym_sample* sample) {
  sample->kernel_depth = 0;
  long size =
      has_kernel ? bpf_get_task_stack(task, sample->stack, GOSYM_MAX_KERNEL_FRAMES * 8, 0) : 0;
  if (size > 0)
    sample->kernel_depth = (__u32)size / 8;
  set_stack_pointer(sample, 0);
  sample->frame_pointer = sample->unwalked = 0;
  if (!has_user || lacks_user_stack(task))
    return;
  struct pt_regs___kernel* saved = registers_of_task(task);
  struct registers registers = read_registers(saved);
  take_saved_registers(saved, sample);
  set_stack_pointer(sample, registers.sp);
  sample->frame_pointer = registers.fp;
  sample->unwalked = registers.ip;
}

// True if the iterator's buffer has room for both records of a thread. Records without room
// are thrown away by the kernel, which then calls for the thread again with an empty buffer,
// when its wait is taken away already: so nothing is begun that may not fit. An empty buffer
// has to do.
static __always_inline bool has_room(struct seq_file* records) {
  const __u64 most =
      __builtin_offsetof(struct gosym_sample, stack) + 8 * GOSYM_MAX_KERNEL_FRAMES;
  __u64 count = BPF_CORE_READ(records, count);
  // A record that fills the buffer to its last byte counts as one too many.
  return count == 0 || count + 2 * most < BPF_CORE_READ(records, size);
}

// Reports the threads that are on no CPU when the recording ends: written to whoever reads the
// iterator, as samples without a user stack. That is left to the reader, who can read the
// memory of others; `unwalked` is the instruction pointer. A thread that has come to a CPU by
// now is reported there, by come_to_cpu(): whichever of the two is first takes `left` away.
SEC("iter/task")
int take_open_wait(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task)
    return 0;
  __u32 tid = BPF_CORE_READ(task, pid);
  struct gosym_wait* wait = bpf_map_lookup_elem(&waits, &tid);
  if (!wait || !wait->left || BPF_CORE_READ(task, on_cpu))
    return 0;
  if (!has_room(ctx->meta->seq))
    return 1;  // the same thread again, once the buffer has been read
  struct gosym_wait ended = *wait;
  wait->left = 0;
  __u64 now = bpf_ktime_get_ns();
  struct parts parts = choose_parts(&ended, BPF_CORE_READ(task, tgid), now);
  struct gosym_sample* sample = scratch_sample();
  if (!sample || (!parts.slept && !parts.waited))
    return 0;
  sample->pid = BPF_CORE_READ(task, tgid);
  sample->tid = tid;
  sample->cpu = bpf_get_smp_processor_id();
  sample->event = wait_event;
  sample->cgroup = cgroup_of(task);
  sample->user_depth = sample->label_count = sample->top_size = 0;
  sample->far_size = sample->piece_count = sample->passed_count = 0;
  sample->goid = sample->creator = 0;
  sample->missing = sample->has_gap = 0;
  sample->user_end = GOSYM_END_ROOT;
  take_task_stack(task, sample);
  __u64 size = __builtin_offsetof(struct gosym_sample, stack) + 8ull * sample->kernel_depth;
  asm volatile("" : "+r"(size));
  if (size > sizeof(*sample))
    return 0;
  if (parts.slept) {
    set_slept(sample, &ended, parts);
    bpf_seq_write(ctx->meta->seq, sample, size);
  }
  if (parts.waited) {
    set_waited(sample, &ended, parts, now);
    bpf_seq_write(ctx->meta->seq, sample, size);
  }
  return 0;
}
