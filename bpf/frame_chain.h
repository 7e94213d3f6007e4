/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The chain of frame pointers.

#include "code.h"
#include "scratch.h"
#include "user_memory.h"

// What a frame pointer points to.
struct frame {
  __u64 next;
  __u64 return_address;
};

// The verifier goes through each turn of a loop and each path that leads to some code, but only
// once through a function that is not static. So walks are made of steps, and what is done once
// a stack is functions of numbers. All that takes 0.2 s when a recording begins, not some
// seconds.
#define FRAMES_A_STEP 128
#define MAX_WALK_STEPS (GOSYM_MAX_WALK / FRAMES_A_STEP)

// A step of walk_stack(). The last frame, or 0 if the walk has come to its end.
__noinline __u64 walk_stack_step(__u64 frame_pointer, __u64 bottom) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  struct frame frame;
  for (int i = 0; i < FRAMES_A_STEP; i++) {
    if (frame_pointer & 7) {
      sample->user_end = GOSYM_END_BAD_FRAME;
      return 0;
    }
    if (bpf_probe_read_user(&frame, sizeof(frame), (void*)frame_pointer)) {
      sample->user_end = frame_pointer ? GOSYM_END_UNREADABLE : GOSYM_END_ROOT;
      return 0;
    }
    if (frame.return_address == 0) {
      sample->user_end = GOSYM_END_ROOT;
      return 0;
    }
    if (frame_pointer < bottom && (++sample->stack_switches > GOSYM_MAX_STACK_SWITCHES ||
                                   !is_return_address(frame.return_address))) {
      sample->user_end = GOSYM_END_BAD_FRAME;
      return 0;
    }
    if (!append_to(sample, frame.return_address))
      return 0;
    bottom = frame_pointer + sizeof(frame);
    frame_pointer = frame.next;
  }
  return bottom - sizeof(frame);
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
  sample->stack_switches = 0;
  sample->user_end = GOSYM_END_LIMIT;
  for (int i = 0; i < MAX_WALK_STEPS; i++) {
    __u64 last = walk_stack_step(frame_pointer, bottom);
    if (!last)
      break;
    frame_pointer = read_word(last);
    bottom = last + sizeof(struct frame);
  }
  return 0;
}

// A step of walk_part(). The last frame that it passed; 0 if it passed none.
__noinline __u64 walk_part_step(__u64 frame_pointer, __u64 bottom, __u64 end) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  struct frame frame;
  __u64 last = 0;
  for (int i = 0; i < FRAMES_A_STEP; i++) {
    if (frame_pointer < bottom || frame_pointer >= end || (frame_pointer & 7))
      break;
    if (bpf_probe_read_user(&frame, sizeof(frame), (void*)frame_pointer) ||
        !follows_call(frame.return_address) || !append_to(sample, frame.return_address))
      break;
    last = frame_pointer;
    bottom = frame_pointer + sizeof(frame);
    frame_pointer = frame.next;
  }
  return last;
}

// Follows the chain as long as it holds beyond doubt on the stack that ends at `end`: this is
// the part of a stack that is not the last. The last frame of it; 0 if there is none.
__noinline __u64 walk_part(__u64 frame_pointer, __u64 bottom, __u64 end) {
  __u64 last = 0;
  for (int i = 0; i < MAX_WALK_STEPS; i++) {
    __u64 reached = walk_part_step(frame_pointer, bottom, end);
    if (!reached)
      break;
    last = reached;
    frame_pointer = read_word(last);
    bottom = last + sizeof(struct frame);
  }
  return last;
}

// A step of walk_goroutine(), which came from the frame `last`. The last frame; the end of the
// walk is told in the sample.
__noinline __u64 walk_goroutine_step(__u64 frame_pointer, __u64 bottom, __u64 end, __u64 last) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  struct frame frame;
  for (int i = 0; i < FRAMES_A_STEP; i++) {
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
    if (!append_to(sample, frame.return_address))
      return 0;
    last = frame_pointer;
    bottom = frame_pointer + sizeof(frame);
    frame_pointer = frame.next;
  }
  return last;
}

// Follows the chain on the stack of a goroutine. The frame from which it leads out of that; 0
// if it does not.
__noinline __u64 walk_goroutine(__u64 frame_pointer, __u64 bottom, __u64 end) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  __u64 last = 0;
  sample->user_end = GOSYM_END_LIMIT;
  for (int i = 0; i < MAX_WALK_STEPS; i++) {
    last = walk_goroutine_step(frame_pointer, bottom, end, last);
    if (!last || sample->user_end != GOSYM_END_LIMIT)
      return last;
    frame_pointer = read_word(last);
    bottom = last + sizeof(struct frame);
  }
  return 0;
}

// The first place from `begin` on that looks like a saved frame pointer with a return address,
// behind a call of the function that `pc` lies in: cgocall, which is small and called by name.
// What an earlier call has left there looks the same otherwise.
__noinline __u64 find_frame(__u64 begin, __u64 end, __u64 pc) {
  const __u64 max_size = 4096;
  const int max_words = 64;  // of cgocall's frame
  for (int i = 0; i < max_words; i++) {
    __u64 place = begin + i * 8;
    __u64 next = read_word(place);
    if (next > place && next < end && !(next & 7) &&
        pc - called_by_name(read_word(place + 8)) < max_size)
      return place;
  }
  return 0;
}
