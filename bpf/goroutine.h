/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The goroutine that a thread runs, read from the memory of its process. What the fields mean
// is told in src/go/goroutine_layout.h. All of it may be damaged or made up: what cannot be
// read reads as 0.

#include "code.h"
#include "kernel.h"
#include "sample.h"
#include "scratch.h"
#include "user_memory.h"

// The processes whose program is of Go, and how to read it.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GOSYM_MAX_GO_PROCESSES);
  __type(key, __u32);
  __type(value, struct gosym_go_program);
} go_programs SEC(".maps");

struct goroutine {
  __u64 address;  // of its g; 0: the thread runs none
  __u64 low;      // bounds of its stack
  __u64 high;
  // The registers that it left its stack with.
  __u64 sp;
  __u64 pc;
  __u64 bp;
  __u64 lr;       // arm64: what a function that has no frame yet returns to; 0: there is none
  __u64 g0;       // the address of what stands for the thread itself
  __u64 g0_high;  // end of the stack that it has for C code
  __u64 g0_sp;    // where on it begins what works for the goroutine
  bool is_on_stack;
  bool has_left_stack;   // for the other one; with a signal handler it may be on neither
  bool is_current;       // though it has left its stack: the runtime called C code by itself
  bool called_from_c;    // on a thread that C code made
  __u64 stack_barriers;  // the address of what the collector keeps of them; 0: nothing
  bool has_segments;     // of which low and high are the bounds of the one in use
};

// The goroutine of the current thread: it takes much of the BPF stack, and here the verifier
// does not remember its values.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct goroutine);
} current_goroutine SEC(".maps");

// Address of the pointer to g of the current thread.
static __always_inline __u64 place_of_g(const struct gosym_go_program* program) {
  struct task_struct* task = (void*)bpf_get_current_task();
  __u64 offset = program->offset_at ? read_word(program->offset_at) : program->offset;
  return THREAD_POINTER(task) + offset;
}

// True if it is a g that a thread has for current: that thread's m leads back to it.
static __always_inline bool is_current_g(const struct gosym_go_program* program, __u64 g) {
  __u64 m = read_word(g + program->g_m);
  return m && g &&
         (g == read_word(m) || g == read_word(m + program->m_curg) ||
          g == read_word(m + program->m_gsignal));
}

// On arm64 Go code has its g in a register, which C code may use for something else; programs
// with C code keep it in the memory of the thread as well.
static __always_inline __u64 current_g(const struct gosym_go_program* program) {
#if defined(__TARGET_ARCH_arm64)
  struct gosym_sample* sample = scratch_sample();
  if (sample && is_current_g(program, sample->registers[28]))
    return sample->registers[28];
#endif
  return read_word(place_of_g(program));
}

static __always_inline bool has_on_stack(const struct goroutine* goroutine, __u64 place) {
  return place >= goroutine->low && place < goroutine->high;
}

#if defined(__TARGET_ARCH_x86)
// Finds where the goroutine left its stack from the stack pointer that it comes back to, or
// nothing: its return address lies there, or behind a frame of up to three words, as nanotime1
// has with two of its own. The last of those is the frame pointer of the caller; if there is
// none it may be `frame`.
static __always_inline void find_left_stack(struct goroutine* found, __u64 place, __u64 frame) {
  __u64 before = frame > place ? frame : 0;
  for (int i = 0; i <= 3 && has_on_stack(found, place); i++, place += 8) {
    __u64 pc = read_word(place);
    if (follows_call(pc)) {
      found->pc = pc;
      found->sp = place + 8;
      found->bp = before > place && has_on_stack(found, before) ? before : 0;
      found->has_left_stack = true;
      found->is_current = true;
      return;
    }
    before = pc;
  }
}

// True if the code on the thread's stack was entered by `call *%rax`, from the 16-byte aligned
// base of that stack; or 16 bytes below it, where clock calls reserve room for one result; or
// 32, where time.now reserves two.
static __always_inline bool has_called_c(const struct goroutine* goroutine, __u64 sp) {
  for (int i = 0; i <= 2; i++) {
    __u64 place = ((goroutine->g0_sp - 16 * i) & ~15ull) - 8;
    __u8 call[2] = {};
    bpf_probe_read_user(call, sizeof(call), (void*)(read_word(place) - sizeof(call)));
    if (place >= sp && call[0] == 0xff && call[1] == 0xd0)
      return true;
  }
  return false;
}

// The first word that C code has saved, below where its stack begins, that leads to a return
// address on the stack of the goroutine; 0 if there is none. The first functions save their
// registers within a few words of there; below, more and more words are left of earlier calls.
__noinline __u64 find_saved_stack_pointer(__u64 begin, __u64 sp, __u64 low, __u64 high) {
  const int max_words = 24;
  for (int i = 1; i <= max_words; i++) {
    __u64 place = begin - 8 * i;
    if (place < sp)
      break;
    __u64 word = read_word(place);
    if (word >= low && word < high && follows_call(read_word(word)))
      return word;
  }
  return 0;
}

// Finds the place where a goroutine that is still the current one left its stack: for the vDSO
// (nanotime, walltime, time.now) or the race detector (racecall). The registers in its g are
// those of an earlier system call. The stack pointer that they go back to is in %r12, or up to
// Go 1.15 in %rbp. C code keeps these, or saves them before it uses them: a function that keeps
// frame pointers has saved %rbp where it leads now, others somewhere near where the stack
// begins.
static __always_inline void find_call_of_c(struct goroutine* found,
                                           struct registers registers) {
  __u64 frame = registers.fp;
  if (frame >= registers.sp && frame < found->g0_high)
    frame = read_word(frame);
  find_left_stack(found, has_on_stack(found, registers.r12) ? registers.r12 : frame, frame);
  if (found->has_left_stack)
    return;
  __u64 begin = (found->g0_sp & ~15ull) - 8;  // there C code returns to Go code
  __u64 place = find_saved_stack_pointer(begin, registers.sp, found->low, found->high);
  if (place)
    find_left_stack(found, place, read_word(begin - 8));
}
#endif

// One whose stack is of segments. The thread's m is told behind its g.
static __always_inline void find_goroutine_on_segment(const struct gosym_go_program* program,
                                                      struct registers registers,
                                                      struct goroutine* found) {
  const __u64 below_guard = 256;  // bytes that may be used without a look at it
  __u64 place = place_of_g(program);
  __u64 g = read_word(place);
  __u64 m = read_word(place + 8);
  if (!g || !m || read_word(m) == g || read_word(m + program->m_curg) != g)
    return;
  found->address = g;
  found->low = read_word(g + program->g_stack_guard) - below_guard;
  found->high = read_word(g + 8);
  found->is_on_stack = has_on_stack(found, registers.sp);
  found->has_segments = found->is_on_stack;
}

// Finds where the goroutine left its stack that is still the current one.
static __always_inline bool find_current_left_stack(struct goroutine* found,
                                                    struct registers registers) {
#if defined(__TARGET_ARCH_x86)
  if (!has_called_c(found, registers.sp))
    return false;
  find_call_of_c(found, registers);
#else
  // Clocks go to the thread's stack for the vDSO, which keeps x20: there they have their own.
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return false;
  __u64 sp = sample->registers[20];
  if (!has_on_stack(found, sp) || !follows_call(read_word(sp)))
    return false;
  found->sp = sp;
  found->bp = sp - 8;
  found->has_left_stack = true;
  found->is_current = true;
#endif
  return true;
}

// A pointer that is not a g is detected: no m points back to it. `found` is all zeros before,
// and stays so if the thread runs no goroutine. A g begins with the bounds of its stack; in
// what it has saved (gobuf) pc follows sp, and bp follows lr.
static __always_inline void find_goroutine(const struct gosym_go_program* program,
                                           struct registers registers,
                                           struct goroutine* found) {
  if (program->g_stack_guard) {
    find_goroutine_on_segment(program, registers, found);
    return;
  }
  __u64 g = current_g(program);
  __u64 m = read_word(g + program->g_m);
  __u64 g0 = read_word(m);
  __u64 current = read_word(m + program->m_curg);
  if (!is_current_g(program, g) || !current || read_word(current + program->g_m) != m)
    return;
  found->address = current;
  found->low = read_word(current);
  found->high = read_word(current + 8);
  found->stack_barriers = program->g_stack_barriers ? current + program->g_stack_barriers : 0;
  found->is_on_stack = has_on_stack(found, registers.sp);
  found->g0 = g0;
  found->g0_high = read_word(g0 + 8);
  // systemstack says that it has left the thread's stack before it does.
  bool is_on_g0 = g == g0 || (registers.sp >= read_word(g0) && registers.sp < found->g0_high);
  if (!is_on_g0 || found->is_on_stack)
    return;
  found->g0_sp = read_word(g0 + program->g_sched_sp);
  // gogo and systemstack, too, make it the current one before they go to its stack.
  if (g == current && find_current_left_stack(found, registers))
    return;
  found->sp = read_word(current + program->g_sched_sp);
  found->pc = read_word(current + program->g_sched_sp + 8);
  found->bp = read_word(current + program->g_sched_bp);
  found->lr = read_word(current + program->g_sched_bp - 8);
  found->has_left_stack = has_on_stack(found, found->sp);
  // A goroutine that calls C code is on the thread's stack already, or still, and nothing else
  // was saved.
#if defined(__TARGET_ARCH_x86)
  if (g == current && !found->has_left_stack)
    find_left_stack(found, registers.r12, registers.fp);
#endif
}
