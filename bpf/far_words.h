/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Words of a stack that lie further up than the top which is taken as it is, and point into the
// code of the Go program, or to where other programs have code. In deep stacks of large
// frames these are one in a hundred.

#include "goroutine.h"
#include "sample.h"
#include "scratch.h"

// Set before the program is loaded.
const volatile __u32 max_word_offset = GOSYM_MAX_WORD_OFFSET;

#define GOSYM_PAGE_SIZE 4096

// Libraries lie this far below where the kernel begins to map, and so do other things: which
// words point into code is left to the reader.
#define GOSYM_LIBRARIES_SIZE (4ull << 30)

// A thread's own stack may lie among the libraries: so much to either side of it is no code.
#define GOSYM_NEAR_STACK (1 << 20)

// A page of a stack, and the code that its words may point into.
struct page {
  __u64 code;
  __u64 code_size;
  __u64 libraries;
  __u64 libraries_size;  // 0: they are not looked for
  __u64 near_stack;      // from here on 2 * GOSYM_NEAR_STACK bytes are no libraries
  __u64 words[GOSYM_PAGE_SIZE / 8];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct page);
} pages SEC(".maps");

static __always_inline bool may_be_code(const struct page* page, __u64 word) {
  return word - page->code < page->code_size ||
         (word - page->libraries < page->libraries_size &&
          word - page->near_stack >= 2 * GOSYM_NEAR_STACK);
}

// Far words lie right behind the words of the top, which must not grow any more once there is
// one. Those for which there is no room are left out: the reader then lacks their callers.
__noinline __u64 append_far_word(__u64 offset, __u64 value) {
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  __u64 size = sample->far_size;
  __u64 at = size_before_top(sample) + sample->top_size + size;
  if (size >= sizeof(struct gosym_far_word) * GOSYM_MAX_FAR_WORDS ||
      at > sizeof(sample->stack) - sizeof(struct gosym_far_word))
    return 0;
  struct gosym_far_word* word = (void*)((char*)sample->stack + at);
  word->offset = offset;
  word->value = value;
  sample->far_size = size + sizeof(*word);
  return 0;
}

// A page in steps, as walks are made of steps.
#define WORDS_A_STEP 32

// Appends what of the words from `first` on, up to `count`, points into code.
__noinline __u64 take_code_words(__u64 offset, __u64 first, __u64 count) {
  __u32 zero = 0;
  struct page* page = bpf_map_lookup_elem(&pages, &zero);
  if (!page)
    return 0;
  for (int i = 0; i < WORDS_A_STEP; i++) {
    __u64 index = first + i;
    // The compiler would check the sum of both, and add to the address one by one.
    asm volatile("" : "+r"(index));
    if (index >= count || index >= GOSYM_PAGE_SIZE / 8)
      break;
    __u64 word = page->words[index] & code_mask;
    if (may_be_code(page, word))
      append_far_word(offset + 8 * index, word);
  }
  return 0;
}

// `offset` is that of `stack`, as if all words of the sample's stacks were taken. Gives how
// many bytes were passed: up to the end of the page, or `end`, which is above `stack`. A page
// that cannot be read is passed, too: it may be of a buffer to which nothing was written yet.
__noinline __u64 take_page(__u64 stack, __u64 offset, __u64 end) {
  __u32 zero = 0;
  struct page* page = bpf_map_lookup_elem(&pages, &zero);
  if (!page)
    return 0;
  __u64 size = GOSYM_PAGE_SIZE - (stack & (GOSYM_PAGE_SIZE - 1));
  if (size > end - stack)
    size = end - stack;
  asm volatile("" : "+r"(size));
  if (size > GOSYM_PAGE_SIZE || bpf_probe_read_user(page->words, size, (void*)stack))
    return size;
  for (int i = 0; i < GOSYM_PAGE_SIZE / 8; i += WORDS_A_STEP) {
    if (i >= size / 8)
      break;
    take_code_words(offset, i, size / 8);
  }
  return size;
}

static __always_inline void set_native_code(struct page* page, __u64 stack) {
  struct task_struct* task = (void*)bpf_get_current_task();
  page->code = BPF_CORE_READ(task, mm, start_code);
  page->code_size = BPF_CORE_READ(task, mm, end_code) - page->code;
  page->libraries = BPF_CORE_READ(task, mm, mmap_base) - GOSYM_LIBRARIES_SIZE;
  page->libraries_size = GOSYM_LIBRARIES_SIZE;
  page->near_stack = stack - GOSYM_NEAR_STACK;
}

// Takes what lies from `stack` up to `end`, or nothing if that is not above it. In a Go program
// this is the stack of a goroutine, as a rule, and no other code than the program's is looked
// for. The loop has a turn more than the limit has pages, as the first may be part of one.
__noinline __u64 take_far_words(__u64 stack, __u64 offset, __u64 end) {
  struct gosym_sample* sample = scratch_sample();
  __u32 zero = 0;
  struct page* page = bpf_map_lookup_elem(&pages, &zero);
  if (!sample || !page)
    return 0;
  __u32 pid = sample->pid;
  struct gosym_go_program* program = bpf_map_lookup_elem(&go_programs, &pid);
  if (program) {
    page->code = program->code;
    page->code_size = program->code_size;
    page->libraries_size = 0;
  } else {
    set_native_code(page, stack);
  }
  for (int i = 0; i <= GOSYM_MAX_WORD_OFFSET / GOSYM_PAGE_SIZE; i++) {
    if (stack >= end || offset >= max_word_offset)
      break;
    __u64 size = take_page(stack, offset, end);
    stack += size;
    offset += size;
  }
  return 0;
}
