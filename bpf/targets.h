/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

// Processes, threads and cgroups whose code is sampled.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "sample.h"

// Set before the program is loaded. Not bool: the skeleton would spell it _Bool, which clang
// does not take in C++.
const volatile __u8 is_system_wide = 0;
const volatile __u8 has_target_tids = 0;
const volatile __u32 target_cgroup_count = 0;

// Processes, with all their threads.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GOSYM_MAX_TARGETS);
  __type(key, __u32);
  __type(value, __u8);
} target_pids SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GOSYM_MAX_TARGET_TIDS);
  __type(key, __u32);
  __type(value, __u8);
} target_tids SEC(".maps");

// With all cgroups below them.
struct {
  __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
  __uint(max_entries, GOSYM_MAX_TARGET_CGROUPS);
  __type(key, __u32);
  __type(value, __u32);
} target_cgroups SEC(".maps");

static __always_inline bool is_in_target_cgroup(void) {
  for (__u32 i = 0; i < GOSYM_MAX_TARGET_CGROUPS && i < target_cgroup_count; i++)
    if (bpf_current_task_under_cgroup(&target_cgroups, i) == 1)
      return true;
  return false;
}

static __always_inline bool is_target(__u32 pid, __u32 tid) {
  return is_system_wide || bpf_map_lookup_elem(&target_pids, &pid) ||
         (has_target_tids && bpf_map_lookup_elem(&target_tids, &tid)) || is_in_target_cgroup();
}
