#pragma once

#include <vector>

#include "base/sequence_pool.h"
#include "profile/location_table.h"
#include "profile/profile.h"

namespace gosym {

// Adds up samples that are equal but for how many they are, in order of first sight.
//
// Owners (process, thread, labels, ...) take few distinct values, so they are interned and a
// sample holds an index: with all of it in the keys of all samples the table is three times as
// large, and a report of 180,000 samples of prometheus takes 7 % more.
class SampleCounter {
public:
  void add(const SampleCount& sample) {
    SampleOwner whose = {sample.goid,   sample.recording, sample.comm,   sample.pid,
                         sample.tid,    sample.label_set, sample.cgroup, sample.event,
                         sample.cpu,    sample.step,      sample.state,  sample.waker,
                         sample.process};
    auto number = whose_.try_emplace(whose, static_cast<uint32_t>(whose_.size())).first->second;
    SampleCount* same = find(sample.stack, number);
    if (!same) {
      samples_.push_back(sample);
      return;
    }
    same->count += sample.count;
    same->weight += sample.weight;
    same->skipped += sample.skipped;
  }

  std::vector<SampleCount> take() && { return std::move(samples_); }

  // In bytes, about.
  uint64_t memory() const {
    return memory_while_growing(samples_.capacity() * sizeof(SampleCount), samples_.size(),
                                samples_.capacity()) +
           memory_while_growing(firsts_.capacity() * sizeof(First), firsts_.size(),
                                firsts_.capacity()) +
           memory_of_table(whose_) + memory_of_table(others_);
  }

private:
  // Null if there is none: then it is the next one.
  SampleCount* find(StackId stack, uint32_t whose) {
    auto next = static_cast<uint32_t>(samples_.size());
    if (firsts_.size() <= to_index(stack))
      firsts_.resize(to_index(stack) + 1);
    First& first = firsts_[to_index(stack)];
    if (first.whose == kNobody) {
      first = {whose, next};
      return nullptr;
    }
    if (first.whose == whose)
      return &samples_[first.sample];
    auto [slot, is_new] = others_.try_emplace(Key{stack, whose}, next);
    return is_new ? nullptr : &samples_[slot->second];
  }

  struct SampleOwner {
    uint64_t goid;
    uint32_t recording;
    StringId comm;
    uint32_t pid;
    uint32_t tid;
    uint32_t label_set;
    StringId cgroup;
    uint32_t event;
    uint32_t cpu;
    uint32_t step;
    StringId state;
    StringId waker;
    StringId process;
    bool operator==(const SampleOwner&) const = default;
  };
  static constexpr uint32_t kNobody = UINT32_MAX;
  struct First {
    uint32_t whose = kNobody;
    uint32_t sample = 0;
  };
  struct Key {
    StackId stack;
    uint32_t whose;
    bool operator==(const Key&) const = default;
  };

  std::vector<SampleCount> samples_;
  tsl::robin_map<SampleOwner, uint32_t, BytesHash> whose_;
  std::vector<First> firsts_;  // of each stack the sample that came first
  tsl::robin_map<Key, uint32_t, BytesHash> others_;
};

}  // namespace gosym
