/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

__noinline __u64 read_word(__u64 address) {
  __u64 word;
  bpf_probe_read_user(&word, sizeof(word), (void*)address);  // sets it to 0 where it fails
  return word;
}

// Registers of user code.
struct registers {
  __u64 ip;
  __u64 sp;
  __u64 fp;
  __u64 r12;  // x86-64 only
};

// Go's compiler, up to 1.20, calls duffzero and duffcopy with the frame pointer below the stack
// pointer, where it has saved the caller's: 16 bytes before the call, and so 8 within it.
static __always_inline __u64 above_red_zone(__u64 fp, __u64 sp) {
  return fp + 8 == sp || fp + 16 == sp ? read_word(fp) : fp;
}
