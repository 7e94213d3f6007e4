/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

static __always_inline __u64 read_word(__u64 address) {
  __u64 word;
  bpf_probe_read_user(&word, sizeof(word), (void*)address);  // sets it to 0 where it fails
  return word;
}
