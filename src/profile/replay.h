#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/sequence_pool.h"
#include "profile/kernel_history.h"
#include "profile/process_history.h"
#include "profile/profile.h"
#include "profile/sample_counter.h"

namespace gosym {

// Where in its image the code lies that is mapped at `address`; none if no segment has it.
std::optional<ImageAddress> to_image_address(const Mapping& mapping, const RecordedImage& image,
                                             RuntimeAddress address);

// What is told apart in a profile though the stacks are equal. Threads of one name are many in
// a Go program, and goroutines more.
struct Distinctions {
  bool has_tids = true;
  bool has_goids = true;
};

// Turns recorded samples into a profile: each runtime address becomes a location in the image
// that was mapped there at that moment.
//
// A return address lies in mapped code. Where the chain of frame pointers leads to one that
// does not, it has left the stack, and the user stack ends before it. Only a leaf may lie in no
// mapping. Words of a stack that point to no mapped code are left out, and so are those that
// are new, once there are a million of them: programs have a hundred thousand calls, a file
// that was made to take all memory could have any number.
//
// Samples may come in any order, as those of different CPUs do. A stack with its top, and each
// address, is looked at once for each address space it was seen in. Stacks that are equal in
// several of these become one when callers have been looked for (rewrite_stacks.h), and not
// before: to find the few takes a sixth of the time of a report.
class Replay {
public:
  // Of the perf maps it only looks which process each is of.
  Replay(RecordingInfo info, std::vector<RecordedImage> images, std::vector<Event> events,
         std::span<const RecordedPerfMap> perf_maps = {}, Distinctions distinctions = {});

  // The name of the sample's thread; ":TID" if it is not known. Valid until the next call.
  std::string_view comm(const RecordedSample& sample);

  // The path of its cgroup; empty if it is not known.
  std::string_view cgroup(const RecordedSample& sample) const;

  // Many samples share a stack, a top or a set of labels: whoever knows which may have each
  // numbered once, instead of once a sample. What is equal has the same number.
  struct Numbers {
    uint32_t kernel_stack;
    uint32_t user_stack;
    uint32_t top;
    uint32_t label_set;
  };
  uint32_t number_stack(std::span<const uint64_t> stack) { return raw_stacks_.intern(stack); }
  uint32_t number_top(std::span<const StackWord> top) { return raw_tops_.intern(top); }
  uint32_t number_labels(std::span<const Label> labels);

  // `numbers` are those of the sample's own.
  void add(const RecordedSample& sample, const Numbers& numbers);
  void add(const RecordedSample& sample);

  // What all that was added takes, in bytes, about; events and images apart.
  uint64_t memory() const;

  // The profile without frames, and without what only the file knows: times and statistics.
  Profile finish() &&;

private:
  // Keys of the tables below, made of integers of one size because they are hashed by bytes.
  struct Setting {
    uint32_t program;
    uint32_t map_count;
    uint32_t kernel_count;  // as KernelHistory has it; 0 without a kernel stack
    uint32_t end;
    uint32_t bridge;
    bool operator==(const Setting&) const = default;
  };
  struct SeenStack {
    uint32_t setting;  // there are few, and the table of all stacks is half as large
    uint32_t kernel;
    uint32_t user;
    uint32_t top;
    uint32_t frame_offset;
    bool operator==(const SeenStack&) const = default;
  };
  struct SeenAddress {
    uint64_t address;
    uint32_t program;
    uint32_t map_count;
    uint64_t is_return;
    bool operator==(const SeenAddress&) const = default;
  };
  struct SeenTop {
    uint32_t program;
    uint32_t map_count;
    uint64_t top;
    bool operator==(const SeenTop&) const = default;
  };
  struct LocationKey {
    uint64_t address;
    MappingId mapping;
    StringId kernel_name;
    uint64_t is_return;
    bool operator==(const LocationKey&) const = default;
  };
  struct MappingKey {
    uint64_t image;
    uint64_t start;
    uint64_t limit;
    uint64_t file_offset;
    uint64_t perf_map;
    bool operator==(const MappingKey&) const = default;
  };

  LocationId user_location(AddressSpace space, uint64_t address, bool is_return);
  StackId add_stack(const Setting& setting, const Numbers& numbers, uint64_t frame_offset);
  uint32_t top(AddressSpace space, uint32_t raw_top);
  // `count` is that of a setting.
  LocationId kernel_location(uint32_t count, uint64_t address, bool is_return);
  LocationId location(const LocationKey& key);
  MappingId mapping_at(AddressSpace space, uint64_t address);
  uint32_t image_of(const MapEvent& event);
  uint32_t perf_map_of(const MapEvent& event) const;

  Distinctions distinctions_;
  tsl::robin_map<uint64_t, std::string> cgroups_;  // paths
  KernelHistory kernel_history_;
  ProcessHistory history_;
  tsl::robin_map<ImageId, RecordedImage> recorded_;
  tsl::robin_map<uint32_t, uint32_t> perf_maps_;  // by program, numbered as in Mapping
  SequencePool<uint64_t> raw_stacks_;
  SequencePool<StackWord> raw_tops_;
  SequencePool<TopWord> words_of_tops_;
  size_t word_locations_ = 0;  // that were made for words of tops
  SequencePool<ProfileLabel> label_sets_;
  std::string unknown_comm_;           // that comm() gave last
  std::vector<LocationId> resolved_;   // scratch of add_stack()
  std::vector<TopWord> resolved_top_;  // scratch of top()

  tsl::robin_map<Setting, uint32_t, BytesHash> settings_;
  tsl::robin_map<SeenStack, StackId, BytesHash> seen_;
  tsl::robin_map<SeenAddress, LocationId, BytesHash> seen_addresses_;
  std::vector<ProfileLabel> resolved_labels_;  // scratch of number_labels()
  tsl::robin_map<SeenTop, uint32_t, BytesHash> tops_;
  SampleCounter samples_;
  tsl::robin_map<LocationKey, LocationId, BytesHash> locations_;
  tsl::robin_map<MappingKey, MappingId, BytesHash> mappings_;
  tsl::robin_map<const MapEvent*, MappingId> mapping_of_event_;
  tsl::robin_map<ImageId, uint32_t> images_;
  tsl::robin_map<std::string, uint32_t> unrecorded_images_;  // by path
  Profile profile_;
};

}  // namespace gosym
