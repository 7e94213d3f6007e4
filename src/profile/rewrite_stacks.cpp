#include "profile/rewrite_stacks.h"

namespace gosym {

namespace {

struct SampleKey {
  uint32_t stack;
  uint32_t pid;
  uint32_t tid;
  StringId comm;
  uint64_t label_set;
  uint64_t goid;
  bool operator==(const SampleKey&) const = default;
};

void drop_unused_locations(Profile& profile) {
  constexpr LocationId kUnused{UINT32_MAX};
  std::vector<LocationId> new_ids(profile.locations.size(), kUnused);
  std::vector<Location> used;
  for (LocationId& id : profile.stack_locations) {
    LocationId& new_id = new_ids[to_index(id)];
    if (new_id == kUnused) {
      new_id = static_cast<LocationId>(used.size());
      used.push_back(profile.locations[to_index(id)]);
    }
    id = new_id;
  }
  profile.locations = std::move(used);
}

// Gives the samples their new stacks, and adds up those that have become equal.
void set_samples(Profile& profile, std::span<const uint32_t> new_stacks) {
  tsl::robin_map<SampleKey, size_t, BytesHash> slots;
  std::vector<SampleCount> samples;
  for (SampleCount sample : profile.samples) {
    uint32_t stack = new_stacks[to_index(sample.stack)];
    sample.stack = StackId{stack};
    SampleKey key = {stack, sample.pid, sample.tid, sample.comm, sample.label_set, sample.goid};
    auto [slot, is_new] = slots.try_emplace(key, samples.size());
    if (is_new)
      samples.push_back(sample);
    else
      samples[slot->second].count += sample.count;
  }
  profile.samples = std::move(samples);
}

}  // namespace

void replace_stacks(Profile& profile, const SequencePool<LocationId>& stacks,
                    std::span<const uint32_t> new_stacks) {
  profile.stack_locations.clear();
  profile.stack_begin = {0};
  for (uint32_t id = 0; id < stacks.size(); id++)
    profile.add_stack(stacks[id]);
  set_samples(profile, new_stacks);
  drop_unused_locations(profile);
}

}  // namespace gosym
