#pragma once

#include <tsl/robin_map.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/sequence_pool.h"
#include "profile/profile.h"

namespace gosym {

// Puts a profile together of what a file says that was a profile already. Whoever reads the
// file checks what it says; the builder counts what it takes, so that a few bytes that were
// made for it cannot take any amount of memory.
class ProfileBuilder {
public:
  // In bytes.
  explicit ProfileBuilder(uint64_t memory_budget);

  // For the fields that a profile has once, which the reader sets.
  Profile& profile() { return profile_; }

  StringId intern(std::string_view text);
  // Entries are added without a search for equal ones: the reader knows each by its number.
  FunctionId add_function(const Function& function);
  uint32_t add_image(ProfileImage image);
  MappingId add_mapping(const Mapping& mapping);
  LocationId add_location(Location location, std::span<const Frame> frames);
  // Equal stacks, and sets of labels, are one.
  StackId add_stack(std::span<const LocationId> stack);
  uint32_t stack_count() const { return stacks_.size(); }
  uint32_t add_label_set(std::span<const ProfileLabel> labels);
  OwnerId add_owner(const Owner& owner);
  // With the amounts of the other values of its event, if that has several.
  void add_sample(SampleCount sample, std::span<const uint64_t> others = {});

  // So many bytes are in the reader's own tables, or in the file.
  void take(uint64_t bytes) { memory_ += bytes; }
  // True once the profile is larger than the budget: the reader may leave out the rest, and a
  // stack that would exceed it was left out.
  bool is_full() const { return memory_ + stacks_.memory() > memory_budget_; }

  // With the samples counted.
  Profile finish() &&;

private:
  Profile profile_;
  uint64_t memory_budget_;
  uint64_t memory_ = 0;
  SequencePool<LocationId> stacks_;
  SequenceNumbers<StringId> label_sets_;
};

// True if the name is a text that stands for code without one: "[unknown]", "[stripped
// libc.so.6]".
bool is_stand_in(std::string_view name);

// Why code has no name, by what `gosym report` and others write in its place.
Unnamed unnamed_by(std::string_view stand_in);

// "… 4100 frames …", as Profile::unnamed_text() has it: how many; none for any other name.
std::optional<uint64_t> left_out_frames(std::string_view name);

}  // namespace gosym
