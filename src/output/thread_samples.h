#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace gosym {

// The samples of one event that a thread has, in order of time: what viewers show as a track.
struct ThreadSamples {
  uint32_t event = 0;      // index into RecordingInfo::events
  uint32_t recording = 0;  // index into Profile::recordings
  uint32_t pid = 0;        // 0: of a profile that does not tell processes; likewise the thread
  uint32_t tid = 0;
  std::string name;     // of the thread when it had most of them, printable; may be empty
  std::string process;  // likewise
  uint64_t amount = 0;  // of all
  std::vector<const SampleCount*> samples;  // of the profile
};

// Threads with the most time, or events, first; events in the order of the recording.
std::vector<ThreadSamples> samples_by_thread(const Profile& profile);

// The name for viewers: "server (4242/4243)", and the event where there are several.
std::string track_name(const Profile& profile, const ThreadSamples& thread);

// Nanoseconds since the recording began; 0 in a profile without times.
uint64_t time_of(const Profile& profile, const SampleCount& sample);

// The amount that the sample stands for: nanoseconds, or events.
uint64_t value_of(const Profile& profile, const SampleCount& sample);

}  // namespace gosym
