/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "sample.h"

// Set before the program is loaded: bits of an address of code. With the others arm64 may sign a
// return address that is saved.
const volatile __u64 code_mask = ~0ull;

__noinline __u64 read_word(__u64 address) {
  __u64 word;
  bpf_probe_read_user(&word, sizeof(word), (void*)address);  // sets it to 0 where it fails
  return word;
}

// An argument of a function that is not static, which the function has no use for on each machine: the
// compiler would leave it out of the calls, and the verifier would refuse these.
#define UNUSED(argument) asm volatile("" : : "r"(argument))

// Registers of user code.
struct registers {
  __u64 ip;
  __u64 sp;
  __u64 fp;
#if defined(__TARGET_ARCH_x86)
  __u64 r12;
#endif
};

// The lowest place of what the frame pointer leads to.
static __always_inline __u64 lowest_frame(__u64 sp) {
  return GOSYM_BELOW_STACK ? sp - 8 : sp;
}

// Go's compiler, up to 1.20, calls duffzero and duffcopy with the frame pointer below the stack
// pointer, where it has saved the caller's: 16 bytes before the call, and so 8 within it.
static __always_inline __u64 above_red_zone(__u64 fp, __u64 sp) {
#if defined(__TARGET_ARCH_x86)
  return fp + 8 == sp || fp + 16 == sp ? read_word(fp) : fp;
#else
  return fp;
#endif
}
