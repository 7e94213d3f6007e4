/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Words of a user stack, as they are.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "sample.h"
#include "scratch.h"

// Takes words of a stack into the sample, behind `begin` bytes of what that holds. A page at a
// time: the stack may end before, and of a buffer in a large frame pages may not be there, as
// nothing was written to them yet. Those are zeros. Gives the number of bytes taken, up to the
// end of the last page that is there: missing pages at the end are taken for the end of the
// stack.
__noinline __u64 take_words(__u64 begin, __u64 stack, __u64 wanted) {
  const __u64 page = 4096;
  const __u64 max_hole = 5 * page;  // pages that are not there cost most
  struct gosym_sample* sample = scratch_sample();
  if (!sample)
    return 0;
  __u64 taken = 0;
  __u64 passed = 0;
  for (int i = 0; i <= GOSYM_MAX_TOP_SIZE / 4096; i++) {
    if (passed >= wanted || passed - taken >= max_hole)
      break;
    __u64 from = stack + passed;
    __u64 size = page - (from & (page - 1));
    if (size > wanted - passed)
      size = wanted - passed;
    __u64 at = begin + passed;
    // The compiler knows these bounds and leaves the checks out; the verifier needs them.
    asm volatile("" : "+r"(at), "+r"(size));
    if (at > sizeof(sample->stack) - page || size > page)
      break;
    passed += size;
    if (!bpf_probe_read_user((char*)sample->stack + at, size, (void*)from))
      taken = passed;
  }
  return taken;
}
