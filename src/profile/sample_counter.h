#pragma once

#include <span>
#include <vector>

#include "base/sequence_pool.h"
#include "profile/profile.h"

namespace gosym {

// Adds up samples of a table that are equal but for how many they are, in order of first sight.
// It only finds them: the table is the caller's, and nobody else adds to it.
class SampleCounter {
public:
  void add(const SampleCount& sample, std::vector<SampleCount>& samples) {
    uint32_t at = find_or_add(sample, samples);
    if (at == samples.size()) {
      samples.push_back(sample);
      return;
    }
    samples[at].count += sample.count;
    samples[at].weight += sample.weight;
    samples[at].skipped += sample.skipped;
  }

  // A sample whose values but the first are `others`; empty: it has one. Those of the table are
  // rows of `amounts`.
  void add(SampleCount sample, std::span<const uint64_t> others,
           std::vector<SampleCount>& samples, std::vector<uint64_t>& amounts) {
    if (others.empty())
      return add(sample, samples);
    uint32_t at = find_or_add(sample, samples);
    if (at == samples.size()) {
      sample.set_others(others, amounts);
      samples.push_back(sample);
      return;
    }
    samples[at].count += sample.count;
    samples[at].weight += sample.weight;
    for (size_t i = 0; i < others.size(); i++)
      amounts[samples[at].others() + i] += others[i];
  }

  bool contains(const SampleCount& sample, const std::vector<SampleCount>& samples) const {
    if (firsts_.size() <= to_index(sample.stack))
      return false;
    uint32_t first = firsts_[to_index(sample.stack)];
    return first != kNone &&
           (key_of(samples[first]) == key_of(sample) || others_.contains(key_of(sample)));
  }

  // In bytes, about, with the table.
  uint64_t memory(const std::vector<SampleCount>& samples) const {
    return memory_while_growing(samples.capacity() * sizeof(SampleCount), samples.size(),
                                samples.capacity()) +
           memory_while_growing(firsts_.capacity() * sizeof(uint32_t), firsts_.size(),
                                firsts_.capacity()) +
           memory_of_table(others_);
  }

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Key {
    StackId stack;
    OwnerId owner;
    uint32_t step;
    uint32_t cpu;
    bool operator==(const Key&) const = default;
  };
  static Key key_of(const SampleCount& sample) {
    return {sample.stack, sample.owner, sample.step, sample.cpu};
  }

  // The place of an equal sample; if there is none, the next one.
  uint32_t find_or_add(const SampleCount& sample, const std::vector<SampleCount>& samples) {
    auto next = static_cast<uint32_t>(samples.size());
    if (firsts_.size() <= to_index(sample.stack))
      firsts_.resize(to_index(sample.stack) + 1, kNone);
    // Most stacks have samples of one owner only: these need no entry in the hash table.
    uint32_t& first = firsts_[to_index(sample.stack)];
    if (first == kNone)
      return first = next;
    if (key_of(samples[first]) == key_of(sample))
      return first;
    return others_.try_emplace(key_of(sample), next).first->second;
  }

  std::vector<uint32_t> firsts_;  // of each stack the sample that came first
  tsl::robin_map<Key, uint32_t, BytesHash> others_;
};

}  // namespace gosym
