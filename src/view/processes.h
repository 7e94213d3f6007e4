#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace gosym {

// A process of a profile: what has one number on one host.
struct ProfiledProcess {
  uint32_t host = 0;  // number of the host, as Hosts has it
  uint32_t pid = 0;
  StringId comm{};      // the name that it had in most of its samples
  uint64_t amount = 0;  // Profile::amount of them
};

// The hosts of the recordings of a profile, numbered from 0.
class Hosts {
public:
  explicit Hosts(const Profile& profile);

  uint32_t of(const SampleCount& sample) const { return of_recording(sample.recording); }
  uint32_t of_recording(uint32_t recording) const {
    return recording < numbers_.size() ? numbers_[recording] : 0;
  }
  std::string_view name(uint32_t host) const { return names_[host]; }
  // " on web-1", where there are several hosts; else empty.
  std::string suffix(uint32_t host) const;

private:
  std::vector<uint32_t> numbers_;  // of each recording
  std::vector<std::string> names_;
};

// The most samples first.
std::vector<ProfiledProcess> find_processes(const Profile& profile,
                                            std::span<const SampleCount> samples,
                                            const Hosts& hosts);

// Processes of one name, on whatever host.
struct ProfiledProgram {
  StringId comm{};
  uint64_t amount = 0;
  std::vector<ProfiledProcess> processes = {};  // the most samples first
};
// The most samples first.
std::vector<ProfiledProgram> find_programs(const Profile& profile,
                                           std::span<const SampleCount> samples,
                                           const Hosts& hosts);

}  // namespace gosym
