// The walk of the BPF program over the stack of a process that is stopped, as a part of another
// program.

#include "native_walk.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

// Constants that the sampler sets before the BPF program is loaded are set here.
#define const
#include "stack_top.h"
#include "user_stack.h"
#undef const

static struct gosym_sample* native_sample;
static struct gosym_go_program* native_program;
static struct page native_page;
static struct stack_pieces native_pieces;
static struct passed_callers native_passed;
static struct mm_struct native_memory;  // without a known beginning of the stack
struct task_struct native_task = {.mm = &native_memory};

void* bpf_map_lookup_elem(void* map, const void* key) {
  if (map == &pages)
    return &native_page;
  if (map == &stack_pieces)
    return &native_pieces;
  if (map == &passed_callers)
    return &native_passed;
  return map == &go_programs ? (void*)native_program : native_sample;
}

void native_walk(struct gosym_sample* sample, struct native_state state,
                 struct gosym_go_program* program) {
  top_size = 1024;
  broken_top_size = GOSYM_MAX_TOP_SIZE;
  native_sample = sample;
  native_program = program;
  native_task.thread.fsbase = state.thread_pointer;
  sample->kernel_depth = 0;
  sample->label_count = 0;
  struct registers registers = {state.ip, state.sp, above_red_zone(state.fp, state.sp),
                                state.r12};
  struct goroutine goroutine = {};
  if (program)
    find_goroutine(program, registers, &goroutine);
  take_user_stack(sample, registers, program, &goroutine);
  struct handler_stack none = {};
  take_top(sample, &goroutine, &none);
}
