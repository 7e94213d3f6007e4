/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// What of the stack of a goroutine lies further up than the top that is taken as it is: words
// that point into the code of its program. In deep stacks of large frames these are one in a
// hundred.

#include "goroutine.h"
#include "sample.h"
#include "scratch.h"

#define GOSYM_PAGE_SIZE 4096

struct page {
  __u64 words[GOSYM_PAGE_SIZE / 8];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct page);
} pages SEC(".maps");

static __always_inline void append_far_word(struct gosym_sample* sample, __u64 offset,
                                            __u64 value) {
  // Read anew: so the verifier need not follow how it grows.
  __u64 size = *(volatile __u32*)&sample->far_size;
  __u64 at = size_before_top(sample) + sample->top_size + size;
  if (size >= sizeof(struct gosym_far_word) * GOSYM_MAX_FAR_WORDS ||
      at > sizeof(sample->stack) - sizeof(struct gosym_far_word))
    return;
  struct gosym_far_word* word = (void*)((char*)sample->stack + at);
  word->offset = offset;
  word->value = value;
  sample->far_size = size + sizeof(*word);
}

// Appends what of the first words of the page points into code.
__noinline __u64 take_code_words(__u64 offset, __u64 count) {
  struct gosym_sample* sample = scratch_sample();
  __u32 zero = 0;
  struct page* page = bpf_map_lookup_elem(&pages, &zero);
  if (!sample || !page)
    return 0;
  __u32 pid = sample->pid;
  struct gosym_go_program* program = bpf_map_lookup_elem(&go_programs, &pid);
  if (!program)
    return 0;
  __u64 code = program->code;
  __u64 code_size = program->code_size;
  for (int i = 0; i < GOSYM_PAGE_SIZE / 8; i++) {
    if (i >= count)
      break;
    __u64 word = page->words[i];
    if (word - code < code_size)
      append_far_word(sample, offset + 8 * i, word);
  }
  return 0;
}

// `offset` is that of `stack`, as if all words of the sample's stacks were taken.
__noinline __u64 take_far_words(__u64 stack, __u64 offset, __u64 end) {
  __u32 zero = 0;
  struct page* page = bpf_map_lookup_elem(&pages, &zero);
  if (!page)
    return 0;
  for (int i = 0; i <= GOSYM_MAX_WORD_OFFSET / GOSYM_PAGE_SIZE; i++) {
    if (stack >= end || offset >= GOSYM_MAX_WORD_OFFSET)
      break;
    __u64 size = GOSYM_PAGE_SIZE - (stack & (GOSYM_PAGE_SIZE - 1));
    if (size > end - stack)
      size = end - stack;
    asm volatile("" : "+r"(size));
    if (size > GOSYM_PAGE_SIZE)
      break;
    if (!bpf_probe_read_user(page->words, size, (void*)stack))
      take_code_words(offset, size / 8);
    stack += size;
    offset += size;
  }
  return 0;
}
