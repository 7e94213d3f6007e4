/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The chain of frame pointers.

#include "code.h"
#include "passed_callers.h"
#include "scratch.h"
#include "stack_barriers.h"
#include "user_memory.h"

// The two words that a frame pointer points to.
struct frame {
  __u64 next;
  __u64 return_address;
};

// With the word that lies above: if it leads to Go code it may be the return address of a
// function without a frame, which the chain passes over (note_passed()).
struct frame_and_above {
  struct frame frame;
  __u64 above;
};

// False if the frame cannot be read. On a page's end it may be the last that can.
static __always_inline bool read_frame(struct frame_and_above* read, __u64 frame_pointer) {
  if (bpf_probe_read_user(read, sizeof(*read), (void*)frame_pointer)) {
    read->above = 0;
    if (bpf_probe_read_user(&read->frame, sizeof(read->frame), (void*)frame_pointer))
      return false;
  }
  read->frame.return_address &= code_mask;
  return true;
}

// Notes the return addresses that lie from `place` on, below the frame that the chain leads to
// next. It keeps little on the BPF stack, which is nearly used up here.
__noinline __u64 note_passed(__u64 place, __u64 next) {
#pragma unroll
  for (int i = 0; i < GOSYM_MAX_PASSED_IN_A_ROW; i++, place += 8) {
    __u64 word = read_word(place);
    bool is_below = !next || place < next;
    if (!is_below || !(follows_call(word) || is_goexit(word)) || !append_passed(word))
      break;
  }
  return 0;
}

// False if the stack is too deep. Of the frames in the ring it is not known which will be kept.
static __always_inline bool append_frame(struct gosym_sample* sample, __u64 frame_pointer,
                                         const struct frame_and_above* read) {
  if (!append_to(sample, read->frame.return_address))
    return false;
#if defined(__TARGET_ARCH_arm64)
  // Calls put no return address on the stack, and who calls another keeps a frame.
  return true;
#endif
  if (read->above - sample->code < sample->code_size &&
      sample->user_depth <= GOSYM_INNER_FRAMES)
    note_passed(frame_pointer + sizeof(read->frame), read->frame.next);
  return true;
}

// The verifier goes through each turn of a loop and each path that leads to some code, but only
// once through a function that is not static. So walks are made of steps, and what is done once
// a stack is functions of numbers. All that takes a tenth of a second when a recording begins,
// not some seconds.
#define FRAMES_A_STEP 32
#define STEPS_A_STRIDE 64
#define MAX_STRIDES (GOSYM_MAX_WALK / FRAMES_A_STEP / STEPS_A_STRIDE)

// The steps of a walk follow the chain from a frame pointer on, as far as FRAMES_A_STEP goes.
// `bottom` is where the stack begins that the next frame may lie on, `last` the frame that was
// followed before. Each gives the last frame that it followed, `last` if none.
//
// Each says first that the walk has ended, and takes that back if its loop runs out: every
// return within the loop is an end. Why it ended is in `user_end`, but of a part: it is
// GOSYM_END_LIMIT before the walk, and stays so where the frames are too many.

// Callers lie at higher addresses. Only from the stack of Go's scheduler, or of its signal
// handler, the chain may lead down to that of a goroutine; code that uses the register for
// something else leads down just as often, so there the return address is looked at.
__noinline __u64 step_on_stack(__u64 frame_pointer, __u64 bottom, __u64 last) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  sample->walk_has_ended = 1;
  struct frame_and_above read;
  struct frame* frame = &read.frame;
  for (int i = 0; i < FRAMES_A_STEP; i++) {
    if (frame_pointer & 7) {
      sample->user_end = GOSYM_END_BAD_FRAME;
      return last;
    }
    // A frame pointer of 0 is that of the root, and nothing can be read there.
    if (!read_frame(&read, frame_pointer)) {
      sample->user_end = frame_pointer ? GOSYM_END_UNREADABLE : GOSYM_END_ROOT;
      return last;
    }
    if (frame->return_address == 0) {
      sample->user_end = GOSYM_END_ROOT;
      return last;
    }
    if (frame_pointer < bottom && (++sample->stack_switches > GOSYM_MAX_STACK_SWITCHES ||
                                   !is_return_address(frame->return_address))) {
      sample->user_end = GOSYM_END_BAD_FRAME;
      return last;
    }
    if (!append_frame(sample, frame_pointer, &read))
      return last;
    last = frame_pointer;
    bottom = frame_pointer + sizeof(*frame);
    frame_pointer = frame->next;
  }
  sample->walk_has_ended = 0;
  return last;
}

// Takes a step only if the chain holds beyond doubt on the stack that ends at `end`: for a part
// of a stack that is not the last.
__noinline __u64 step_on_part(__u64 frame_pointer, __u64 bottom, __u64 end, __u64 last) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  sample->walk_has_ended = 1;
  struct frame_and_above read;
  struct frame* frame = &read.frame;
  for (int i = 0; i < FRAMES_A_STEP; i++) {
    if (frame_pointer < bottom || frame_pointer >= end || (frame_pointer & 7))
      return last;
    if (!read_frame(&read, frame_pointer) || !follows_call(frame->return_address) ||
        !append_frame(sample, frame_pointer, &read))
      return last;
    last = frame_pointer;
    bottom = frame_pointer + sizeof(*frame);
    frame_pointer = frame->next;
  }
  sample->walk_has_ended = 0;
  return last;
}

// On the stack of a goroutine. Gives 0 where the chain ends on it, and the last frame where it
// leads elsewhere: then `user_end` holds only if take_goroutine_stack() knows no way on.
__noinline __u64 step_on_goroutine(__u64 frame_pointer, __u64 bottom, __u64 end, __u64 last) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  sample->walk_has_ended = 1;
  struct frame_and_above read;
  struct frame* frame = &read.frame;
  for (int i = 0; i < FRAMES_A_STEP; i++) {
    if (frame_pointer < bottom || frame_pointer >= end || (frame_pointer & 7)) {
      sample->user_end = frame_pointer ? GOSYM_END_BAD_FRAME : GOSYM_END_ROOT;
      return frame_pointer ? last : 0;
    }
    if (!read_frame(&read, frame_pointer)) {
      sample->user_end = GOSYM_END_UNREADABLE;
      return 0;
    }
    if (frame->return_address == 0) {
      sample->user_end = GOSYM_END_ROOT;
      return 0;
    }
    // Never without barriers: their place is beyond all others then (take_user_stack()).
    if (frame_pointer + 8 >= sample->barrier_place)
      frame->return_address = return_address_at(frame_pointer + 8, frame->return_address);
    if (!append_frame(sample, frame_pointer, &read))
      return 0;
    last = frame_pointer;
    bottom = frame_pointer + sizeof(*frame);
    frame_pointer = frame->next;
  }
  sample->walk_has_ended = 0;
  return last;
}

enum walk { WALK_STACK, WALK_PART, WALK_GOROUTINE };

// Takes STEPS_A_STRIDE steps of a walk of any kind. A step gives one number, the last frame: it
// is read again for where the next step begins.
__noinline __u64 stride(enum walk walk, __u64 frame_pointer, __u64 bottom, __u64 end,
                        __u64 last) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  for (int i = 0; i < STEPS_A_STRIDE; i++) {
    if (walk == WALK_STACK)
      last = step_on_stack(frame_pointer, bottom, last);
    else if (walk == WALK_PART)
      last = step_on_part(frame_pointer, bottom, end, last);
    else
      last = step_on_goroutine(frame_pointer, bottom, end, last);
    if (sample->walk_has_ended)
      break;
    frame_pointer = read_word(last);
    bottom = last + sizeof(struct frame);
  }
  return last;
}

// Follows the chain of frame pointers: each points to the caller's frame pointer, and the
// return address lies after it. Appends the return addresses to the stack. What the last step
// of the walk gave.
__noinline __u64 follow_chain(enum walk walk, __u64 frame_pointer, __u64 bottom, __u64 end) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  __u64 last = 0;
  for (int i = 0; i < MAX_STRIDES; i++) {
    last = stride(walk, frame_pointer, bottom, end, last);
    if (sample->walk_has_ended)
      break;
    frame_pointer = read_word(last);
    bottom = last + sizeof(struct frame);
  }
  return last;
}

static __always_inline void walk_stack(struct gosym_sample* sample, __u64 frame_pointer,
                                       __u64 bottom) {
  sample->stack_switches = 0;
  sample->user_end = GOSYM_END_LIMIT;
  follow_chain(WALK_STACK, frame_pointer, bottom, 0);
}

// The last frame of the part; 0 if there is none.
static __always_inline __u64 walk_part(__u64 frame_pointer, __u64 bottom, __u64 end) {
  return follow_chain(WALK_PART, frame_pointer, bottom, end);
}

// The frame from which the chain leads out of the goroutine's stack; 0 if it does not.
static __always_inline __u64 walk_goroutine(struct gosym_sample* sample, __u64 frame_pointer,
                                            __u64 bottom, __u64 end) {
  sample->user_end = GOSYM_END_LIMIT;
  return follow_chain(WALK_GOROUTINE, frame_pointer, bottom, end);
}

// The first place from `begin` on that looks like a saved frame pointer with a return address,
// behind a call of the function that `pc` lies in: cgocall, which is small and called by name.
// Words that an earlier call has left there look the same otherwise.
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
