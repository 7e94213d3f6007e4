#pragma once

#include <vector>

#include "goroutine/goroutines.h"

namespace gosym {

struct GoroutineLabel {
  std::string key;
  std::string value;

  auto operator<=>(const GoroutineLabel&) const = default;
};

// Limits for reading labels.
struct LabelLimits {
  uint64_t text = 4096;            // bytes of a key or value
  uint64_t all_texts = 256 << 20;  // a program with more texts has no labels at all
  size_t buckets = 1 << 20;        // buckets of maps
};

// The labels of goroutines (go/goroutine_layout.h), by key; in the order of `all`. One that has
// other labels by now, or none, has none here: what was read may be of others. Of very many
// labels, and of very long ones, the first are told.
Result<std::vector<std::vector<GoroutineLabel>>> read_labels(
    const std::vector<Goroutine>& all, const go::RuntimeLayout& layout,
    const proc::ReadMemory& read_memory, const LabelLimits& limits = {});

}  // namespace gosym
