/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Facts that the code at an address tells.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "kernel.h"

// True if there is a call before the address, as there is before a real return address. Global,
// so that the verifier looks at it once and not in each turn of a loop.
__noinline bool follows_call(__u64 address) {
#if defined(__TARGET_ARCH_x86)
  __u8 code[7];
  if (bpf_probe_read_user(code, sizeof(code), (void*)(address - sizeof(code))))
    return false;
  // call rel32; or opcode ff /2, whose operand has no, one or four bytes of displacement. An
  // operand with an index, or with the stack pointer, has a byte for that; beside a
  // displacement of one byte or of four the byte behind the opcode is always the same then, and
  // another where a table's address is all that stands beside the index.
  return code[2] == 0xe8 || (code[5] == 0xff && (code[6] & 0x38) == 0x10) ||
         (code[4] == 0xff && (code[5] & 0x38) == 0x10) ||
         (code[1] == 0xff && (code[2] & 0x38) == 0x10) ||
         (code[3] == 0xff && code[4] == 0x54) ||
         (code[0] == 0xff && (code[1] == 0x94 || code[1] == 0x14));
#else
  __u32 instruction;
  if (bpf_probe_read_user(&instruction, sizeof(instruction), (void*)(address - 4)))
    return false;
  return (instruction & 0xfc000000) == 0x94000000 ||  // bl
         (instruction & 0xfffffc1f) == 0xd63f0000;    // blr
#endif
}

// The target of the call before a return address; 0 if it names none.
__noinline __u64 called_by_name(__u64 return_address) {
#if defined(__TARGET_ARCH_x86)
  struct __attribute__((packed)) {
    __u8 opcode;
    __s32 distance;
  } call;
  if (bpf_probe_read_user(&call, sizeof(call), (void*)(return_address - sizeof(call))))
    return 0;
  return call.opcode == 0xe8 ? return_address + call.distance : 0;
#else
  __u32 call;
  if (bpf_probe_read_user(&call, sizeof(call), (void*)(return_address - sizeof(call))))
    return 0;
  __s64 distance = (__s64)((__u64)call << 38) >> 36;  // 26 bits that count instructions
  return (call & 0xfc000000) == 0x94000000 ? return_address - sizeof(call) + distance : 0;
#endif
}

// True if the call before `return_address` may have been to the function that `pc` lies in: it
// names a target that is not far before `pc`, as no function of real programs is so large, or
// it calls by a register, and so whatever that had.
__noinline bool may_call(__u64 return_address, __u64 pc) {
  const __u64 max_function_size = 1 << 20;
  __u64 target = called_by_name(return_address);
  return follows_call(return_address) && (!target || pc - target < max_function_size);
}

// True if a goroutine begins there: runtime.goexit, a nop and a call, is returned to behind the
// nop, though nothing calls it.
static __always_inline bool is_goexit(__u64 address) {
#if defined(__TARGET_ARCH_x86)
  __u8 code[2];
  return !bpf_probe_read_user(code, sizeof(code), (void*)(address - 1)) && code[0] == 0x90 &&
         code[1] == 0xe8;
#else
  __u32 code[2];
  return !bpf_probe_read_user(code, sizeof(code), (void*)(address - 4)) &&
         code[0] == 0xaa0003e0 &&  // mov x0, x0
         (code[1] & 0xfc000000) == 0x94000000;
#endif
}

// True if a frame may return there.
__noinline bool is_return_address(__u64 address) {
  return follows_call(address) || is_goexit(address);
}
