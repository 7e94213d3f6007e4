#pragma once

#include <tsl/robin_map.h>

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/sequence_pool.h"
#include "profile/profile.h"
#include "profile/sample_counter.h"

namespace gosym {

// The sum of named profiles: of parts of a recording that follow each other, or of several
// recordings.
//
// Code of one file is the same wherever processes have it: a location is the first that was
// seen. What is kept is counted stacks, so that it grows with what there is to see, not with
// time. For what has no end that is bounded, too: when there are too many, of a stack that is
// new only the innermost frame is kept, and of whom samples are no more than their name. What
// is counted stays true.
class AccumulatedProfile {
public:
  struct Limits {
    size_t samples = 500'000;             // that differ, some 200 bytes each
    size_t stack_locations = 20'000'000;  // of all stacks
    size_t locations = 500'000;
  };
  static constexpr Limits kNoLimits = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
  explicit AccumulatedProfile(Limits limits) : limits_(limits) {}
  AccumulatedProfile() : AccumulatedProfile(Limits()) {}

  // The first one begins before all others. Images have the same number in all of them, and so
  // have the recordings, as profile().recordings will list them: those of the part from
  // `first_recording` on. Events that are equal, in all their values, are one.
  void add(const Profile& part, uint32_t first_recording = 0);

  // Changes that are not taken back make the sum wrong.
  Profile& profile() { return profile_; }
  // The number of samples that lack some frames, or the thread and process they are of.
  uint64_t shortened_samples() const { return shortened_; }

private:
  struct LocationKey {
    uint64_t address;  // in the image, or else at run time
    uint32_t image;
    uint32_t frames;
    uint32_t kernel_name;
    uint32_t flags;
    bool operator==(const LocationKey&) const = default;
  };
  // New ids of what a part has, by the old ones.
  struct NewIds {
    std::vector<StringId> strings;
    std::vector<uint32_t> images;
    std::vector<FunctionId> functions;
    std::vector<LocationId> locations;
    std::vector<StackId> stacks;
    std::vector<bool> is_short;  // of a stack
    std::vector<uint32_t> label_sets;
    std::vector<uint32_t> events;
    uint32_t first_recording = 0;
  };

  std::vector<uint32_t> add_events(const RecordingInfo& info);
  std::vector<uint32_t> shown_numbers(const RecordingInfo& part, const NewIds& ids) const;
  uint32_t add_image(const ProfileImage& image);
  FunctionId add_function(Function function, const NewIds& ids);
  LocationId add_location(const Profile& part, const Location& location, const NewIds& ids);
  std::optional<uint32_t> add_frames(const Profile& part, Location& location,
                                     const NewIds& ids);
  // There are as many locations as may be.
  bool is_full() const { return profile_.locations.size() >= limits_.locations; }
  MappingId add_mapping(Mapping mapping, const NewIds& ids);
  std::pair<StackId, bool> add_stack(std::vector<LocationId> stack);
  uint32_t add_label_set(std::vector<ProfileLabel> labels, const NewIds& ids);
  OwnerId add_owner(const Owner& owner, const NewIds& ids);
  void add_sample(SampleCount sample, std::span<const uint64_t> others, bool is_short);
  void add_counts(const Profile& part, const NewIds& ids, bool is_first);

  Limits limits_;
  Profile profile_;
  bool is_empty_ = true;
  uint64_t shortened_ = 0;
  std::map<std::pair<ImageId, std::string>, uint32_t> images_;
  std::map<std::vector<uint32_t>, FunctionId> functions_;
  std::map<std::vector<uint64_t>, MappingId> mappings_;
  std::map<std::vector<std::pair<StringId, StringId>>, uint32_t> label_sets_;
  SequencePool<uint64_t> frames_;       // as numbers
  std::vector<uint32_t> frames_begin_;  // of each sequence, in the profile
  tsl::robin_map<LocationKey, LocationId, BytesHash> locations_;
  SequenceNumbers<LocationId> stacks_;  // the profile's, by the same numbers
  SampleCounter samples_;
};

}  // namespace gosym
