// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// Takes a sample at each tick of a perf event: the stacks of the task that the tick hit, as
// addresses, into the ring of that CPU.

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel.h"
#include "sample.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

// Set before the program is loaded. Not bool: the skeleton would spell it _Bool, which clang
// does not take in C++.
const volatile __u8 is_system_wide = 0;
const volatile __u8 has_user = 1;
const volatile __u8 has_kernel = 1;
// Bytes to take of the top of a user stack: where the chain of frame pointers holds, and where
// it does not.
const volatile __u32 top_size = 0;
const volatile __u32 broken_top_size = 0;
// Nothing is taken above the innermost frame of a chain that holds.
const volatile __u8 trusts_chain = 1;

struct gosym_counters counters;

struct ring {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, GOSYM_RING_SIZE);
};

// A ring per CPU: in NMI a ring that another CPU holds locked refuses the record. The sampler
// sets the number of CPUs and puts the rings in.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, __u32);
  __array(values, struct ring);
} rings SEC(".maps");

// The processes to sample.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GOSYM_MAX_TARGETS);
  __type(key, __u32);
  __type(value, __u8);
} targets SEC(".maps");

// Where a sample is put together: it is too large for the BPF stack, and for an array per CPU,
// whose values end at 32 KiB. The sampler sets the number of CPUs.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct gosym_sample);
} scratch SEC(".maps");

struct registers {
  __u64 ip;
  __u64 sp;
  __u64 fp;
};

static __always_inline bool is_target(__u32 pid) {
  return is_system_wide || bpf_map_lookup_elem(&targets, &pid);
}

// On x86-64 and arm64 the kernel has the upper half of the address space.
static __always_inline bool is_kernel_address(__u64 address) {
  return (__s64)address < 0;
}

// Before bpf_task_pt_regs (Linux 5.15): the registers lie at the end of the kernel stack, which
// is 16 KiB long unless the kernel was built to find its own memory errors.
static __always_inline void* registers_by_layout(struct task_struct* task) {
  const unsigned long end = 16384;
  return BPF_CORE_READ(task, stack) + end - bpf_core_type_size(struct pt_regs___kernel);
}

// The registers with which the task entered the kernel.
static __always_inline struct registers saved_registers(struct task_struct* task) {
  struct pt_regs___kernel* saved;
  if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
    saved = (void*)bpf_task_pt_regs((void*)bpf_get_current_task_btf());
  else
    saved = registers_by_layout(task);
#if defined(__TARGET_ARCH_x86)
  return (struct registers){BPF_CORE_READ(saved, ip), BPF_CORE_READ(saved, sp),
                            BPF_CORE_READ(saved, bp)};
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

// Whether there is a call before the address, as there is before a real return address. Global,
// so that the verifier looks at it once and not in each turn of a loop.
__noinline bool follows_call(__u64 address) {
#if defined(__TARGET_ARCH_x86)
  __u8 code[6];
  if (bpf_probe_read_user(code, sizeof(code), (void*)(address - sizeof(code))))
    return false;
  // call rel32; or opcode ff /2, whose operand has no, one or four bytes of displacement.
  return code[1] == 0xe8 || (code[4] == 0xff && (code[5] & 0x38) == 0x10) ||
         (code[3] == 0xff && (code[4] & 0x38) == 0x10) ||
         (code[0] == 0xff && (code[1] & 0x38) == 0x10);
#else
  __u32 instruction;
  if (bpf_probe_read_user(&instruction, sizeof(instruction), (void*)(address - 4)))
    return false;
  return (instruction & 0xfc000000) == 0x94000000 ||  // bl
         (instruction & 0xfffffc1f) == 0xd63f0000;    // blr
#endif
}

// Follows the chain of frame pointers: each points to the caller's frame pointer, and the
// return address lies after it. Callers lie at higher addresses. Only from the stack of Go's
// scheduler, or of its signal handler, the chain may lead down to that of a goroutine; code
// that uses the register for something else leads down just as often, so there the return
// address is looked at. Writes the return addresses behind stack[0].
static __always_inline void walk_user_stack(struct gosym_sample* sample, __u64 frame_pointer,
                                            __u64 bottom) {
  struct {
    __u64 next;
    __u64 return_address;
  } frame;
  sample->stack_switches = 0;
  __u32 depth = 1;
  sample->user_end = GOSYM_END_LIMIT;
  for (; depth < GOSYM_MAX_USER_FRAMES; depth++) {
    if (frame_pointer == 0) {
      sample->user_end = GOSYM_END_ROOT;
      break;
    }
    if (frame_pointer & 7) {
      sample->user_end = GOSYM_END_BAD_FRAME;
      break;
    }
    if (bpf_probe_read_user(&frame, sizeof(frame), (void*)frame_pointer)) {
      sample->user_end = GOSYM_END_UNREADABLE;
      break;
    }
    if (frame.return_address == 0) {
      sample->user_end = GOSYM_END_ROOT;
      break;
    }
    if (frame_pointer < bottom && (++sample->stack_switches > GOSYM_MAX_STACK_SWITCHES ||
                                   !follows_call(frame.return_address))) {
      sample->user_end = GOSYM_END_BAD_FRAME;
      break;
    }
    sample->stack[depth] = frame.return_address;
    bottom = frame_pointer + sizeof(frame);
    frame_pointer = frame.next;
  }
  sample->user_depth = depth;
}

static __always_inline void take_user_stack(struct gosym_sample* sample,
                                            struct registers registers) {
  sample->user_depth = 0;
  sample->user_end = GOSYM_END_ROOT;
  if (!has_user || registers.ip == 0)
    return;
  sample->stack[0] = registers.ip;
  sample->stack_pointer = registers.sp;
  sample->frame_pointer = registers.fp;
  walk_user_stack(sample, registers.fp, registers.sp);
}

// Whether a goroutine begins there: runtime.goexit, a nop and a call, is returned to behind the
// nop, though nothing calls it.
static __always_inline bool is_goexit(__u64 address) {
#if defined(__TARGET_ARCH_x86)
  __u8 code[2];
  return !bpf_probe_read_user(code, sizeof(code), (void*)(address - 1)) && code[0] == 0x90 &&
         code[1] == 0xe8;
#else
  __u32 code[2];
  return !bpf_probe_read_user(code, sizeof(code), (void*)(address - 4)) &&
         code[0] == 0xaa0003e0 &&  // mov x0, x0
         (code[1] & 0xfc000000) == 0x94000000;
#endif
}

// Whether the chain of frame pointers leads to the root of a goroutine, and so through Go code,
// which keeps them. In other code a register that happens to be 0 seems to be a root as well.
static __always_inline bool chain_holds(const struct gosym_sample* sample) {
  __u32 last = sample->user_depth - 1;
  return sample->user_end == GOSYM_END_ROOT && last < GOSYM_MAX_USER_FRAMES &&
         is_goexit(sample->stack[last]);
}

// How much of the stack is needed to find the callers that the chain leaves out: what lies
// below the innermost frame in it, or else whatever may be taken.
static __always_inline __u64 wanted_top_size(const struct gosym_sample* sample) {
  if (!chain_holds(sample))
    return broken_top_size;
  if (!trusts_chain)
    return top_size;
  __u64 below_frame = sample->frame_pointer - sample->stack_pointer;
  return below_frame < top_size ? below_frame : top_size;
}

// A page at a time: the stack may end before.
static __always_inline void take_top(struct gosym_sample* sample) {
  const __u64 page = 4096;
  sample->top_size = 0;
  if (sample->user_depth == 0 || (sample->stack_pointer & 7))
    return;
  __u64 begin = 8 * ((__u64)sample->user_depth + sample->kernel_depth);
  __u64 wanted = wanted_top_size(sample);
  __u64 taken = 0;
  for (int i = 0; i <= GOSYM_MAX_TOP_SIZE / 4096 && taken < wanted; i++) {
    __u64 from = sample->stack_pointer + taken;
    __u64 size = page - (from & (page - 1));
    if (size > wanted - taken)
      size = wanted - taken;
    __u64 at = begin + taken;
    // The compiler knows these bounds and leaves the checks out; the verifier needs them.
    asm volatile("" : "+r"(at), "+r"(size));
    if (at > sizeof(sample->stack) - page || size > page)
      break;
    if (bpf_probe_read_user((char*)sample->stack + at, size, (void*)from))
      break;
    taken += size;
  }
  sample->top_size = taken;
}

static __always_inline void take_kernel_stack(void* ctx, struct gosym_sample* sample) {
  __u32 depth = sample->user_depth;
  if (depth > GOSYM_MAX_USER_FRAMES)  // never; the verifier wants to hear it
    return;
  long size = bpf_get_stack(ctx, &sample->stack[depth], GOSYM_MAX_KERNEL_FRAMES * 8, 0);
  if (size > 0)
    sample->kernel_depth = (__u32)size / 8;
}

// The reader comes by itself often enough; it is woken only when a ring fills faster.
static __always_inline void output(struct gosym_sample* sample) {
  __u32 cpu = sample->cpu;
  void* ring = bpf_map_lookup_elem(&rings, &cpu);
  if (!ring)
    return;
  __u64 size = __builtin_offsetof(struct gosym_sample, stack) +
               8 * ((__u64)sample->user_depth + sample->kernel_depth) + sample->top_size;
  if (size > sizeof(*sample))
    return;
  bool is_filling = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > GOSYM_RING_SIZE / 2;
  __u64 flags = is_filling ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
  if (bpf_ringbuf_output(ring, sample, size, flags) == 0)
    __sync_fetch_and_add(&counters.stored, 1);
  else
    __sync_fetch_and_add(&counters.lost, 1);
}

SEC("perf_event")
int take_sample(struct bpf_perf_event_data* ctx) {
  __u64 pid_tgid = bpf_get_current_pid_tgid();
  __u32 pid = pid_tgid >> 32;
  if (pid == 0 || !is_target(pid))
    return 0;

  __u32 cpu = bpf_get_smp_processor_id();
  struct gosym_sample* sample = bpf_map_lookup_elem(&scratch, &cpu);
  if (!sample)
    return 0;
  sample->time = bpf_ktime_get_ns();
  sample->pid = pid;
  sample->tid = (__u32)pid_tgid;
  sample->cpu = cpu;
  sample->kernel_depth = 0;

  struct registers registers = {PT_REGS_IP(&ctx->regs), PT_REGS_SP(&ctx->regs),
                                PT_REGS_FP(&ctx->regs)};
  bool is_in_kernel = is_kernel_address(registers.ip);
  if (is_in_kernel) {
    struct task_struct* task = (void*)bpf_get_current_task();
    registers = lacks_user_stack(task) ? (struct registers){} : saved_registers(task);
  }
  take_user_stack(sample, registers);
  if (is_in_kernel && has_kernel)
    take_kernel_stack(ctx, sample);
  take_top(sample);
  output(sample);
  return 0;
}

// Children are followed here and not from user space, where one that lives for a millisecond
// would be noticed too late.
SEC("raw_tp/sched_process_fork")
int follow_child(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* parent = (void*)ctx->args[0];
  struct task_struct* child = (void*)ctx->args[1];
  __u32 parent_pid = BPF_CORE_READ(parent, tgid);
  __u32 child_pid = BPF_CORE_READ(child, tgid);
  if (child_pid == parent_pid || !bpf_map_lookup_elem(&targets, &parent_pid))
    return 0;
  __u8 present = 1;
  if (bpf_map_update_elem(&targets, &child_pid, &present, BPF_ANY))
    __sync_fetch_and_add(&counters.unfollowed, 1);
  return 0;
}

// The number of a process may be given to another one once its last thread is gone.
SEC("raw_tp/sched_process_exit")
int forget_process(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (void*)ctx->args[0];
  __u32 pid = BPF_CORE_READ(task, tgid);
  if (BPF_CORE_READ(task, signal, live.counter) == 0)
    bpf_map_delete_elem(&targets, &pid);
  return 0;
}
