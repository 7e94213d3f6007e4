#pragma once

#include <vector>

#include "base/sequence_pool.h"
#include "profile/profile.h"

namespace gosym {

// Adds up samples that are equal but for how many they are, in order of first sight.
class SampleCounter {
public:
  void add(const SampleCount& sample) {
    Key key = {sample.stack,     sample.comm,   sample.pid, sample.tid,
               sample.label_set, sample.cgroup, sample.goid};
    auto [slot, is_new] = slots_.try_emplace(key, samples_.size());
    if (is_new) {
      samples_.push_back(sample);
      return;
    }
    samples_[slot->second].count += sample.count;
    samples_[slot->second].weight += sample.weight;
  }

  std::vector<SampleCount> take() && { return std::move(samples_); }

private:
  struct Key {
    StackId stack;
    StringId comm;
    uint32_t pid;
    uint32_t tid;
    uint32_t label_set;
    StringId cgroup;
    uint64_t goid;
    bool operator==(const Key&) const = default;
  };

  std::vector<SampleCount> samples_;
  tsl::robin_map<Key, size_t, BytesHash> slots_;
};

}  // namespace gosym
