#pragma once

// Kernel helpers that the BPF programs call, as functions of an ordinary program: for the walk
// over the stack of a process that is stopped (../../step_stacks.h).

#include <linux/types.h>
#include <stddef.h>
#include <string.h>

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value)* name
#define __array(name, value) __typeof__(value)* name[]
#define __noinline __attribute__((noinline, unused)) static
#undef __always_inline
#define __always_inline inline __attribute__((always_inline, unused))

struct task_struct;
extern struct task_struct native_task;

// Reads memory of the stopped process. Sets it to 0 where it fails.
long bpf_probe_read_user(void* to, __u32 size, const void* from);

static inline long bpf_probe_read_kernel(void* to, __u32 size, const void* from) {
  memcpy(to, from, size);
  return 0;
}
static inline __u32 bpf_get_smp_processor_id(void) {
  return 0;
}
static inline void* bpf_get_current_task(void) {
  return &native_task;
}
// Whatever the key is: there is one CPU, and one process.
void* bpf_map_lookup_elem(void* map, const void* key);
