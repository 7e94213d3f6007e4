/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The stack of a goroutine of Go 1.2 and 1.3, which may lie in segments: where one is too short
// for a call, and for what a panic calls, the runtime begins the next. What is at the upper end
// of one tells where the stack goes on.

#include "far_words.h"
#include "goroutine.h"
#include "scratch.h"
#include "words.h"

// The runtime's Stktop.
struct segment_end {
  __u64 guard;
  __u64 end;  // where the next one outwards has the same
  // Registers of the caller there; 0: there is no further segment. The return address no longer
  // lies where it called the other function: this may be in its place.
  __u64 sp;
  __u64 pc;
  __u64 others[4];
  __u32 argument_size;  // of arguments that were copied, which lie below
  __u32 panicwrap;
};

// Progress of taking the words of such a stack: here the verifier does not remember the values.
struct segment_walk {
  __u64 stack;   // where the rest of the segment begins
  __u64 end;     // and where its end is
  __u64 offset;  // of `stack`, as if all of it were one stack
  __u64 wanted;  // bytes that are taken as they are
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct segment_walk);
} segment_walks SEC(".maps");

// Takes the words up to `end`. If the top is full and as large as it may be, of the rest those
// that point into code; of a smaller top no more was wanted. False if not all that were wanted
// are there, or the segment is none.
static __always_inline bool take_rest(struct gosym_sample* sample, struct segment_walk* walk,
                                      __u64 end) {
  __u64 size = (end & ~7ull) - walk->stack;
  if ((walk->stack & 7) || end < walk->stack)
    return false;
  if (size > GOSYM_MAX_WORD_OFFSET)
    size = GOSYM_MAX_WORD_OFFSET;
  __u64 left = walk->wanted - sample->top_size;
  __u64 first = size < left ? size : left;
  __u64 begin = size_before_top(sample) + sample->top_size;
  __u64 taken = first ? take_words(begin, walk->stack, first) : 0;
  sample->top_size += taken;
  if (taken != first)
    return false;
  if (size > first && walk->wanted == GOSYM_MAX_TOP_SIZE)
    take_far_words(walk->stack + first, walk->offset + first, end);
  walk->offset += size;
  return true;
}

// Between the words of two segments.
static __always_inline void take_return_address(struct gosym_sample* sample,
                                                struct segment_walk* walk, __u64 pc) {
  if (sample->top_size >= walk->wanted) {
    append_far_word(walk->offset, pc);
  } else {
    put_word(sample, size_before_top(sample) + sample->top_size, pc);
    sample->top_size += 8;
  }
  walk->offset += 8;
}

// Takes what is left of a segment, and goes on to the next: 0 if that is not to be had. The
// return address of the first function, runtime.lessstack, is left out.
__noinline __u64 take_segment(void) {
  __u32 zero = 0;
  struct gosym_sample* sample = scratch_sample();
  struct segment_walk* walk = bpf_map_lookup_elem(&segment_walks, &zero);
  struct segment_end found = {};
  if (!sample || !walk || bpf_probe_read_user(&found, sizeof(found), (void*)walk->end))
    return 0;
  __u64 end = found.sp ? walk->end - 8 - (found.argument_size & ~7u) : walk->end;
  if (!take_rest(sample, walk, end) || !found.sp || walk->offset >= max_word_offset)
    return 0;
  take_return_address(sample, walk, found.pc);
  walk->stack = found.sp;
  walk->end = found.end;
  return 1;
}

// From the stack pointer on, as if all of it were one stack. `end` is that of its segment.
static __always_inline void take_segments(struct gosym_sample* sample, __u64 end,
                                          __u64 wanted) {
  __u32 zero = 0;
  struct segment_walk* walk = bpf_map_lookup_elem(&segment_walks, &zero);
  if (!walk)
    return;
  *walk = (struct segment_walk){.stack = sample->stack_pointer, .end = end, .wanted = wanted};
  for (int i = 0; i < GOSYM_MAX_SEGMENTS; i++)
    if (!take_segment())
      break;
}
