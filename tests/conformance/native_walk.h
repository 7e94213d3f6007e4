#pragma once

#include <sample.h>

#ifdef __cplusplus
extern "C" {
#endif

struct native_state {
  __u64 ip;
  __u64 sp;
  __u64 fp;
  __u64 r12;
  __u64 thread_pointer;
};

// Fills what a sample has of the user stack: `registers` apart. `program` may be null. It asks
// bpf_probe_read_user() for the memory of the process, which whoever links this has.
void native_walk(struct gosym_sample* sample, struct native_state state,
                 struct gosym_go_program* program);

// Reads the memory of the stopped process; fills with zeros what it cannot read, and gives -1.
long bpf_probe_read_user(void* to, __u32 size, const void* from);

#ifdef __cplusplus
}
#endif
