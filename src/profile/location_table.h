#pragma once

#include <tsl/robin_map.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sequence_pool.h"
#include "model/recording.h"
#include "profile/process_history.h"
#include "profile/profile.h"
#include "profile/told_code.h"

namespace gosym {

// Gives the addresses that processes ran, and those that their stacks returned to, locations in
// a profile: each becomes a place in the image that was mapped there at that moment. Images,
// mappings and locations are appended to the profile when they are first met; it must be the
// same one each time, but may move, and others may append locations.
class LocationTable {
public:
  // Perf maps are read for the process that each is of, and for places that they name anew.
  LocationTable(std::vector<RecordedImage> images, std::vector<Event> events,
                std::span<const RecordedPerfMap> perf_maps);

  const KernelHistory& kernel_history() const { return kernel_history_; }
  const ProcessHistory& processes() const { return processes_; }
  AddressSpace address_space(uint32_t pid, uint64_t time) const;

  LocationId in_user(Profile& profile, AddressSpace space, uint64_t address, bool is_return);
  // `count` is that of the kernel's history.
  LocationId in_kernel(Profile& profile, uint32_t count, uint64_t address, bool is_return);
  // The location that a word of a stack returns to; none if no code is mapped there. At most a
  // million new ones are made: programs have a hundred thousand calls, a file that was made to
  // take all memory could have any number.
  std::optional<LocationId> of_word(Profile& profile, AddressSpace space, uint64_t address);
  // The answer of of_word(), if that makes nothing new; else none.
  std::optional<std::optional<LocationId>> known_word(const Profile& profile,
                                                      AddressSpace space,
                                                      uint64_t address) const;
  // Stands for so many frames of the middle of a stack.
  LocationId left_out(Profile& profile, uint32_t missing);
  // Stands for the stack of a running goroutine that C code entered.
  LocationId call_from_c(Profile& profile);

  // In bytes, about; events and images apart.
  uint64_t memory() const;

private:
  // Keys of the tables below, made of integers of one size because they are hashed by bytes.
  struct SeenAddress {
    uint64_t address;
    uint32_t program;
    uint32_t map_count;
    uint32_t told_code;
    uint32_t is_return;
    bool operator==(const SeenAddress&) const = default;
  };
  struct LocationKey {
    uint64_t address;
    MappingId mapping;
    StringId kernel_name;
    uint64_t is_return;
    uint64_t told_size;
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

  LocationId location(Profile& profile, const LocationKey& key);
  LocationId location(Profile& profile, AddressSpace space, MappingId mapping,
                      const SeenAddress& seen);
  MappingId mapping_at(Profile& profile, AddressSpace space, uint64_t address);
  uint32_t image_of(Profile& profile, const MapEvent& event);
  uint32_t perf_map_of(uint32_t program) const;

  KernelHistory kernel_history_;
  ProcessHistory processes_;
  tsl::robin_map<ImageId, RecordedImage> recorded_;
  tsl::robin_map<uint32_t, uint32_t, BytesHash>
      perf_maps_;                    // by program, numbered as in Mapping
  std::vector<ToldCode> told_code_;  // of the perf maps, in order
  size_t word_locations_ = 0;        // that were made for words of stacks
  tsl::robin_map<SeenAddress, LocationId, BytesHash> seen_;
  tsl::robin_map<LocationKey, LocationId, BytesHash> locations_;
  tsl::robin_map<uint32_t, LocationId, BytesHash> left_out_;  // by the number of frames
  std::optional<LocationId> call_from_c_;                     // once there is one
  tsl::robin_map<MappingKey, MappingId, BytesHash> mappings_;
  tsl::robin_map<const MapEvent*, MappingId> mapping_of_event_;
  tsl::robin_map<ImageId, uint32_t> images_;
  std::map<ImageIdentity, std::vector<ImageId>> builds_;     // of all images with a build id
  tsl::robin_map<std::string, uint32_t> unrecorded_images_;  // by path
};

}  // namespace gosym
