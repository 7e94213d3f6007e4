// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// Takes a sample at each tick of a perf event: the stacks of the task that the tick hit, as
// addresses, into the ring of that CPU.

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "goroutine.h"
#include "kernel.h"
#include "sample.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

// Set before the program is loaded. Not bool: the skeleton would spell it _Bool, which clang
// does not take in C++.
const volatile __u8 is_system_wide = 0;
const volatile __u8 has_user = 1;
const volatile __u8 has_kernel = 1;
const volatile __u8 has_goroutines = 1;
// Bytes to take of the top of a user stack: where the chain of frame pointers holds, and where
// it does not.
const volatile __u32 top_size = 0;
const volatile __u32 broken_top_size = 0;
// Nothing is taken above the innermost frame of a chain that holds.
const volatile __u8 trusts_chain = 1;

const volatile __u32 ring_size = GOSYM_MIN_RING_SIZE;

struct gosym_counters counters;

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

// What a frame pointer points to.
struct frame {
  __u64 next;
  __u64 return_address;
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

static __always_inline struct gosym_sample* scratch_sample(void) {
  __u32 cpu = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&scratch, &cpu);
}

// False if there is no room. The index is hidden from the compiler, which would derive it from
// other variables in ways that the verifier cannot follow.
static __always_inline bool append(struct gosym_sample* sample, __u64 address) {
  __u64 depth = sample->user_depth;
  asm volatile("" : "+r"(depth));
  if (depth >= GOSYM_MAX_USER_FRAMES)
    return false;
  sample->stack[depth] = address;
  sample->user_depth = depth + 1;
  return true;
}

// Follows the chain of frame pointers: each points to the caller's frame pointer, and the
// return address lies after it. Callers lie at higher addresses. Only from the stack of Go's
// scheduler, or of its signal handler, the chain may lead down to that of a goroutine; code
// that uses the register for something else leads down just as often, so there the return
// address is looked at. Appends the return addresses to the stack.
__noinline int walk_stack(__u64 frame_pointer, __u64 bottom) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  struct frame frame;
  sample->stack_switches = 0;
  sample->user_end = GOSYM_END_LIMIT;
  for (int i = 0; i < GOSYM_MAX_USER_FRAMES; i++) {
    if (frame_pointer & 7) {
      sample->user_end = GOSYM_END_BAD_FRAME;
      break;
    }
    if (bpf_probe_read_user(&frame, sizeof(frame), (void*)frame_pointer)) {
      sample->user_end = frame_pointer ? GOSYM_END_UNREADABLE : GOSYM_END_ROOT;
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
    if (!append(sample, frame.return_address))
      break;
    bottom = frame_pointer + sizeof(frame);
    frame_pointer = frame.next;
  }
  return 0;
}

// Follows the chain as long as it holds beyond doubt on the stack that ends at `end`: this is
// the part of a stack that is not the last.
__noinline int walk_part(__u64 frame_pointer, __u64 bottom, __u64 end) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  struct frame frame;
  for (int i = 0; i < GOSYM_MAX_USER_FRAMES; i++) {
    if (frame_pointer < bottom || frame_pointer >= end || (frame_pointer & 7))
      break;
    if (bpf_probe_read_user(&frame, sizeof(frame), (void*)frame_pointer) ||
        !follows_call(frame.return_address) || !append(sample, frame.return_address))
      break;
    bottom = frame_pointer + sizeof(frame);
    frame_pointer = frame.next;
  }
  return 0;
}

// Whether the call before `return_address` may have been to the function that `pc` lies in.
__noinline bool may_call(__u64 return_address, __u64 pc) {
  const __u64 max_function_size = 1 << 20;
  struct __attribute__((packed)) {
    __u8 opcode;
    __s32 distance;
  } call;
  if (!follows_call(return_address) ||
      bpf_probe_read_user(&call, sizeof(call), (void*)(return_address - sizeof(call))))
    return false;
  __u64 target = return_address + call.distance;
  return call.opcode != 0xe8 || pc - target < max_function_size;
}

// Follows the chain on the stack of a goroutine. The frame from which it leads out of that; 0
// if it does not.
__noinline __u64 walk_goroutine(__u64 frame_pointer, __u64 bottom, __u64 end) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  struct frame frame;
  __u64 last = 0;
  sample->user_end = GOSYM_END_LIMIT;
  for (int i = 0; i < GOSYM_MAX_USER_FRAMES; i++) {
    if (frame_pointer < bottom || frame_pointer >= end || (frame_pointer & 7)) {
      sample->user_end = frame_pointer ? GOSYM_END_BAD_FRAME : GOSYM_END_ROOT;
      return frame_pointer ? last : 0;
    }
    if (bpf_probe_read_user(&frame, sizeof(frame), (void*)frame_pointer)) {
      sample->user_end = GOSYM_END_UNREADABLE;
      return 0;
    }
    if (frame.return_address == 0) {
      sample->user_end = GOSYM_END_ROOT;
      return 0;
    }
    if (!append(sample, frame.return_address))
      return 0;
    last = frame_pointer;
    bottom = frame_pointer + sizeof(frame);
    frame_pointer = frame.next;
  }
  return 0;
}

// The first place from `begin` on that looks like a saved frame pointer with a return address.
__noinline __u64 find_frame(__u64 begin, __u64 end) {
  const int max_words = 64;  // of cgocall's frame
  for (int i = 0; i < max_words; i++) {
    __u64 place = begin + i * 8;
    __u64 next = read_word(place);
    if (next > place && next < end && !(next & 7) && follows_call(read_word(place + 8)))
      return place;
  }
  return 0;
}

// Appends the return address on top of a stack; where the chain goes on. After a call back from
// C code bp is not what it was.
static __always_inline __u64 push_top(struct gosym_sample* sample,
                                      const struct goroutine* goroutine, __u64 top, __u64 sp,
                                      __u64 bp) {
  append(sample, top);
  return bp > sp && bp < goroutine->high ? bp : find_frame(sp + 8, goroutine->high);
}

// Where the chain goes on below the top of a stack that was left by systemstack or asmcgocall,
// after the return address has been appended if it is not in the chain. In Go 1.21 and later
// the function that was called has pushed the frame pointer, before it has not.
static __always_inline __u64 resume(struct gosym_sample* sample,
                                    const struct goroutine* goroutine, __u64 sp, __u64 bp) {
  __u64 top = read_word(sp);
  if (sp == bp || (top > sp && top < goroutine->high))
    return sp;
  return push_top(sample, goroutine, top, sp, bp);
}

// C code called Go code back, whose frames begin above `last`, those of cgocallback. It saved
// there the pc and sp that the goroutine had left its stack with, for C code (below):
//
//   last + 16                    frame of cgocallback, of the size that it has on the other
//   stack last + 16 + callback_frame   what was on top of the goroutine's stack; pc is the word
//   before
//
// Appends what the chain, which leads through the other stack, has of the C code. Where the
// chain goes on on the goroutine's stack; 0 if this is no such call.
static __always_inline __u64 cross_callback(struct gosym_sample* sample,
                                            const struct gosym_go_program* program,
                                            const struct goroutine* goroutine, __u64 last) {
  __u64 before = last + sizeof(struct frame) + program->callback_frame;
  __u64 pc = read_word(before - 8);
  __u64 top = read_word(before);
  if (before >= goroutine->high || !pc || !top || (follows_call(pc) && !may_call(top, pc)))
    return 0;
  walk_part(read_word(last), 0, goroutine->g0_high);
  if (!sample->bridge)
    sample->bridge = sample->user_depth;
  return resume(sample, goroutine, before, 0);
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

// Appends what lies on top of the stack that a goroutine left for the runtime's, or that of C
// code; where the chain goes on. It did so, in Go 1.15 to 1.27:
//
//   systemstack, asmcgocall  pc is none of a caller but lies in systemstack_switch. sp and bp
//                            are those within the function that was called. In Go 1.15
//                            asmcgocall does as morestack
//   mcall                    pc, sp and bp are those of the caller
//   morestack                pc, sp and bp are those of a function that has not done anything
//                            yet, so that its return address is on top of the stack
static __always_inline __u64 take_goroutine_top(struct gosym_sample* sample,
                                                const struct goroutine* goroutine) {
  sample->bridge = sample->user_depth;
  if (!follows_call(goroutine->pc))
    return resume(sample, goroutine, goroutine->sp, goroutine->bp);
  append(sample, goroutine->pc);
  __u64 top = read_word(goroutine->sp);
  if (!may_call(top, goroutine->pc) && !is_goexit(top))
    return goroutine->bp;
  return push_top(sample, goroutine, top, goroutine->sp, goroutine->bp);
}

static __always_inline void take_goroutine_stack(struct gosym_sample* sample,
                                                 const struct gosym_go_program* program,
                                                 const struct goroutine* goroutine,
                                                 __u64 frame_pointer, __u64 bottom) {
  for (int i = 0; i <= GOSYM_MAX_CALLBACKS; i++) {
    __u64 last = walk_goroutine(frame_pointer, bottom, goroutine->high);
    if (!last)
      return;
    frame_pointer = cross_callback(sample, program, goroutine, last);
    if (!frame_pointer) {
      walk_stack(read_word(last), last + sizeof(struct frame));
      return;
    }
    bottom = frame_pointer;
  }
}

static __always_inline void take_user_stack(struct gosym_sample* sample,
                                            struct registers registers,
                                            const struct gosym_go_program* program,
                                            const struct goroutine* goroutine) {
  sample->user_depth = 0;
  sample->bridge = 0;
  sample->user_end = GOSYM_END_ROOT;
  if (!has_user || registers.ip == 0)
    return;
  sample->stack[0] = registers.ip;
  sample->user_depth = 1;
  sample->stack_pointer = registers.sp;
  sample->frame_pointer = registers.fp;
  if (program && goroutine->has_left_stack) {
    walk_part(registers.fp, registers.sp, goroutine->g0_high);
    __u64 frame_pointer = take_goroutine_top(sample, goroutine);
    take_goroutine_stack(sample, program, goroutine, frame_pointer, goroutine->sp);
  } else if (program && goroutine->is_on_stack) {
    take_goroutine_stack(sample, program, goroutine, registers.fp, registers.sp);
  } else {
    walk_stack(registers.fp, registers.sp);
  }
}

// Whether the chain of frame pointers leads to the root of a goroutine, and so through Go code,
// which keeps them. In other code a register that happens to be 0 seems to be a root as well.
// Below the place where a goroutine left its stack the chain may have been given up.
static __always_inline bool chain_holds(const struct gosym_sample* sample) {
  __u32 last = sample->user_depth - 1;
  return sample->user_end == GOSYM_END_ROOT && !sample->bridge &&
         last < GOSYM_MAX_USER_FRAMES && is_goexit(sample->stack[last]);
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
  __u64 begin = 8 * ((__u64)sample->user_depth + sample->kernel_depth) +
                sizeof(struct gosym_label) * sample->label_count;
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

// Puts a label behind the stacks; what of its texts there is no room for is left out.
__noinline bool take_label(__u64 key, __u64 key_size, __u64 value, __u64 value_size) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return false;
  __u64 index = sample->label_count;
  __u64 depth = (__u64)sample->user_depth + sample->kernel_depth;
  asm volatile("" : "+r"(index), "+r"(depth));
  if (index >= GOSYM_MAX_LABELS || depth > GOSYM_MAX_USER_FRAMES + GOSYM_MAX_KERNEL_FRAMES)
    return false;
  struct gosym_label* label = (struct gosym_label*)&sample->stack[depth] + index;
  if (key_size > sizeof(label->key))
    key_size = sizeof(label->key);
  if (value_size > sizeof(label->value))
    value_size = sizeof(label->value);
  label->key_size = key_size;
  label->value_size = value_size;
  if (bpf_probe_read_user(label->key, key_size, (void*)key) ||
      bpf_probe_read_user(label->value, value_size, (void*)value))
    return false;
  sample->label_count = index + 1;
  return true;
}

struct go_string {
  __u64 data;
  __u64 size;
};

static __always_inline void take_label_slice(__u64 slice) {
  __u64 data = read_word(slice);
  __u64 size = read_word(slice + 8);
  for (int i = 0; i < GOSYM_MAX_LABELS && i < size; i++) {
    struct go_string pair[2];
    if (bpf_probe_read_user(pair, sizeof(pair), (void*)(data + i * sizeof(pair))) ||
        !take_label(pair[0].data, pair[0].size, pair[1].data, pair[1].size))
      break;
  }
}

// A bucket of a map[string]string (src/go/runtime_layout.h).
#define GO_BUCKET_SLOTS 8
#define GO_BUCKET_KEYS 8
#define GO_BUCKET_VALUES (GO_BUCKET_KEYS + GO_BUCKET_SLOTS * 16)
#define GO_BUCKET_NEXT (GO_BUCKET_VALUES + GO_BUCKET_SLOTS * 16)
#define GO_BUCKET_SIZE (GO_BUCKET_NEXT + 8)
#define GO_FIRST_FULL 5

__noinline int take_label_bucket(__u64 bucket) {
  for (int i = 0; i < GO_BUCKET_SLOTS; i++) {
    __u8 state = 0;
    struct go_string key;
    struct go_string value;
    bpf_probe_read_user(&state, sizeof(state), (void*)(bucket + i));
    if (state < GO_FIRST_FULL)
      continue;
    bpf_probe_read_user(&key, sizeof(key), (void*)(bucket + GO_BUCKET_KEYS + i * 16));
    bpf_probe_read_user(&value, sizeof(value), (void*)(bucket + GO_BUCKET_VALUES + i * 16));
    take_label(key.data, key.size, value.data, value.size);
  }
  return 0;
}

static __always_inline void take_label_map(__u64 pointer) {
  __u64 map = read_word(pointer);
  __u64 buckets = read_word(map + 16);
  __u32 bucket_count = 1 << (read_word(map + 8) >> 8 & 7);
  for (int i = 0; i < GOSYM_MAX_LABEL_BUCKETS && i < bucket_count; i++) {
    __u64 bucket = buckets + i * GO_BUCKET_SIZE;
    take_label_bucket(bucket);
    __u64 next = read_word(bucket + GO_BUCKET_NEXT);
    if (next)
      take_label_bucket(next);
  }
}

static __always_inline void take_labels(__u64 pointer, bool is_map) {
  if (!pointer)
    return;
  if (is_map)
    take_label_map(pointer);
  else
    take_label_slice(pointer);
}

// The reader comes by itself often enough; it is woken only when a ring fills faster.
static __always_inline void output(struct gosym_sample* sample) {
  __u32 cpu = sample->cpu;
  void* ring = bpf_map_lookup_elem(&rings, &cpu);
  if (!ring)
    return;
  __u64 size = __builtin_offsetof(struct gosym_sample, stack) +
               8 * ((__u64)sample->user_depth + sample->kernel_depth) +
               sizeof(struct gosym_label) * sample->label_count + sample->top_size;
  if (size > sizeof(*sample))
    return;
  bool is_filling = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_size / 2;
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

  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  sample->time = bpf_ktime_get_ns();
  sample->pid = pid;
  sample->tid = (__u32)pid_tgid;
  sample->cpu = bpf_get_smp_processor_id();
  sample->kernel_depth = 0;

  struct registers registers = {PT_REGS_IP(&ctx->regs), PT_REGS_SP(&ctx->regs),
                                PT_REGS_FP(&ctx->regs)};
  bool is_in_kernel = is_kernel_address(registers.ip);
  if (is_in_kernel) {
    struct task_struct* task = (void*)bpf_get_current_task();
    registers = lacks_user_stack(task) ? (struct registers){} : saved_registers(task);
  }
  struct gosym_go_program* program =
      has_goroutines && has_user ? bpf_map_lookup_elem(&go_programs, &pid) : 0;
  struct goroutine goroutine = {};
  if (program && registers.ip)
    goroutine = find_goroutine(program, registers.sp);
  take_user_stack(sample, registers, program, &goroutine);
  if (is_in_kernel && has_kernel)
    take_kernel_stack(ctx, sample);
  sample->label_count = 0;
  sample->goid = 0;
  if (program && goroutine.address) {
    sample->goid = read_word(goroutine.address + program->g_goid);
    take_labels(read_word(goroutine.address + program->g_labels), program->has_label_map);
  }
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
  if (BPF_CORE_READ(task, signal, live.counter) != 0)
    return 0;
  bpf_map_delete_elem(&targets, &pid);
  bpf_map_delete_elem(&go_programs, &pid);
  return 0;
}
