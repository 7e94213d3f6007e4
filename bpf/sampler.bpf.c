// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// Takes a sample at each tick of a perf event: the stacks of the task that the tick hit, as
// addresses, into the ring of that CPU. Each event of a recording has a program of its own,
// which knows the event's index: a cookie of the event would need Linux 5.15.

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "charged.h"
#include "kernel.h"
#include "output.h"
#include "registers.h"
#include "sample.h"
#include "stacks.h"
#include "targets.h"
#include "ticks.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__u64 unfollowed;  // children beyond GOSYM_MAX_TARGETS

// A tick is noted before it is known whose it is: by the ticks that others had it is seen which
// of a target's did not come. The kernel sends all ticks of a clock for that
// (BpfSampler::open_event), so what is not to be sampled, the idle task included, is left out
// only here.
static __noinline int take_sample(struct bpf_perf_event_data* ctx, __u32 event) {
  __u64 pid_tgid = bpf_get_current_pid_tgid();
  __u32 pid = pid_tgid >> 32;
  __u32 cpu = bpf_get_smp_processor_id();
  __u32 counted = event * cpu_count + cpu;
  struct gosym_counters* counts = bpf_map_lookup_elem(&counters, &counted);
  if (!counts)
    return 0;
  __u64 time = bpf_ktime_get_ns();
  struct tick tick = take_tick(counts, event, ctx->sample_period, time);
  if (!tick.is_counted)
    return 0;
  bool is_in_kernel = is_kernel_address(PT_REGS_IP(&ctx->regs));
  if (pid == 0 || (is_in_kernel ? !has_kernel : !has_user) || !is_target(pid, (__u32)pid_tgid))
    return 0;

  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  __u64 missing = own_missing_ticks(tick);
  __sync_fetch_and_add(&counts->skipped, missing);
  sample->time = time;
  sample->pid = pid;
  sample->tid = (__u32)pid_tgid;
  sample->cpu = cpu;
  sample->event = event;
  sample->weight = weight_of_tick(event, missing, tick);
  sample->cgroup = bpf_get_current_cgroup_id();
  sample->state = GOSYM_STATE_NONE;

  struct registers registers = {
      .ip = PT_REGS_IP(&ctx->regs), .sp = PT_REGS_SP(&ctx->regs), .fp = PT_REGS_FP(&ctx->regs)};
#if defined(__TARGET_ARCH_x86)
  registers.r12 = ctx->regs.r12;
#endif
  struct pt_regs___kernel* saved = 0;
  if (is_in_kernel) {
    struct task_struct* task = (void*)bpf_get_current_task();
    saved = saved_registers(task);
    registers = lacks_user_stack(task) ? (struct registers){} : read_registers(saved);
  }
  if (has_user && saved)
    take_saved_registers(saved, sample);
  else if (has_user)
    take_registers(ctx, sample);
  take_stacks(ctx, sample, registers, is_in_kernel);
  output(sample, counts, tick_ns[event]);
  return 0;
}

#define GOSYM_PROGRAM_OF_EVENT(index)                        \
  SEC("perf_event")                                          \
  int take_sample_##index(struct bpf_perf_event_data* ctx) { \
    return take_sample(ctx, index);                          \
  }

GOSYM_PROGRAM_OF_EVENT(0)
GOSYM_PROGRAM_OF_EVENT(1)
GOSYM_PROGRAM_OF_EVENT(2)
GOSYM_PROGRAM_OF_EVENT(3)
_Static_assert(GOSYM_MAX_EVENTS == 4, "a program of each event");

// Children are followed here and not from user space, where one that lives for a millisecond
// would be noticed too late.
SEC("raw_tp/sched_process_fork")
int follow_child(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* parent = (void*)ctx->args[0];
  struct task_struct* child = (void*)ctx->args[1];
  __u32 parent_pid = BPF_CORE_READ(parent, tgid);
  __u32 child_pid = BPF_CORE_READ(child, tgid);
  if (child_pid == parent_pid || !bpf_map_lookup_elem(&target_pids, &parent_pid))
    return 0;
  __u8 present = 1;
  if (bpf_map_update_elem(&target_pids, &child_pid, &present, BPF_ANY))
    __sync_fetch_and_add(&unfollowed, 1);
  return 0;
}

SEC("raw_tp/sched_process_exit")
int note_exit(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (void*)ctx->args[0];
  __u32 pid = BPF_CORE_READ(task, tgid);
  __u32 tid = BPF_CORE_READ(task, pid);
  bool is_target_tid = has_target_tids && bpf_map_lookup_elem(&target_tids, &tid);
  if (is_target_tid || bpf_map_lookup_elem(&target_pids, &pid))
    note_end(task, tid);
  // The last of the process's threads: all others have begun to exit before.
  if (BPF_CORE_READ(task, signal, live.counter) == 0)
    bpf_map_delete_elem(&go_programs, &pid);
  return 0;
}

// The last work of a thread is to give back its memory, after the tracepoint above since
// Linux 6.16. The number of a process may be given to another one once its first thread, which
// is freed last, is gone.
SEC("raw_tp/sched_process_free")
int forget_task(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (void*)ctx->args[0];
  __u32 pid = BPF_CORE_READ(task, tgid);
  __u32 tid = BPF_CORE_READ(task, pid);
  bpf_map_delete_elem(&target_tids, &tid);
  if (tid == pid)
    bpf_map_delete_elem(&target_pids, &pid);
  count_ended(task);
  return 0;
}
