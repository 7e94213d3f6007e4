#include "profile/rewrite_stacks.h"

#include "profile/sample_counter.h"

namespace gosym {

namespace {

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
  SampleCounter counter;
  for (SampleCount sample : profile.samples) {
    sample.stack = StackId{new_stacks[to_index(sample.stack)]};
    counter.add(sample);
  }
  profile.samples = std::move(counter).take();
}

}  // namespace

void replace_stacks(Profile& profile, SequencePool<LocationId> stacks,
                    std::span<const uint32_t> new_stacks) {
  std::move(stacks).take(profile.stack_locations, profile.stack_begin);
  set_samples(profile, new_stacks);
  drop_unused_locations(profile);
}

}  // namespace gosym
