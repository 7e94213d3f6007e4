/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// The labels of a goroutine (runtime/pprof).

#include "goroutine.h"
#include "scratch.h"

// Puts a label behind the stacks; what of its texts there is no room for is left out. The place
// is told by the depths of both stacks, so they must have been taken before (take_stacks()).
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

// A bucket of a map[string]string (src/go/goroutine_layout.h).
#define GO_BUCKET_SLOTS 8
#define GO_BUCKET_KEYS 8
#define GO_BUCKET_VALUES (GO_BUCKET_KEYS + GO_BUCKET_SLOTS * 16)
#define GO_BUCKET_NEXT (GO_BUCKET_VALUES + GO_BUCKET_SLOTS * 16)
#define GO_BUCKET_SIZE (GO_BUCKET_NEXT + 8)
#define GO_FIRST_FULL 5  // below it is the state of a slot that is empty, or has moved

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

// A map has its count, a byte of flags, and the binary logarithm of the number of buckets, in
// this order, and the buckets behind. More than GOSYM_MAX_LABEL_BUCKETS are not looked at, and
// of a bucket that is full only the first that goes on for it.
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

__noinline int take_labels(__u64 pointer, bool is_map) {
  if (!pointer)
    return 0;
  if (is_map)
    take_label_map(pointer);
  else
    take_label_slice(pointer);
  return 0;
}
