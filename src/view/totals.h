#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "view/frame_keys.h"

namespace gosym {

// The amounts of the samples with one key in their frames. Inlined functions count like others.
struct Total {
  KeyId key{};
  uint64_t self = 0;     // amount (Profile::amount) of samples in it
  uint64_t total = 0;    // in it or in what it calls; a recursion counts once
  uint64_t samples = 0;  // number of those in it
  // For functions and lines: the place of most of their samples. `function` has the file of the
  // line.
  FunctionId function = ViewKey::kNoFunction;
  uint32_t line = 0;  // 0 if unknown
  // For a function that waits are charged to: where most of those were, in the kernel say, if
  // that is another one.
  std::optional<KeyId> waited_in = {};
};

// The frame of a stack that a sample's own amount is charged to.
enum class Charge : uint8_t {
  kInnermost,
  kWaiting,  // for functions, lines and addresses: the one that waited, by WaitFrames
};
// Tables for people charge by this; programs read the same of every event.
Charge charge_for_people(const Profile& profile);

// Totals of all keys that samples have. The most samples of its own first, then the most in
// total. `samples` are of the profile: all of them, or a group.
std::vector<Total> frame_totals(const Profile& profile, std::span<const SampleCount> samples,
                                const FrameKeys& keys, Charge charge = Charge::kInnermost);

// Totals of a key within those of other dimensions of the same frame: of a function of a
// package, say.
struct NestedTotal {
  static constexpr uint32_t kNoParent = UINT32_MAX;
  uint32_t parent = kNoParent;  // number of the total that it is within
  KeyId key{};                  // of the dimension of its depth
  uint64_t self = 0;            // likewise
  uint64_t total = 0;
  uint64_t samples = 0;
};
// `dimensions` are of the same profile, the outermost first. A total stands behind its parent.
std::vector<NestedTotal> nested_totals(const Profile& profile,
                                       std::span<const SampleCount> samples,
                                       std::span<const FrameKeys> dimensions);

inline constexpr size_t kEnoughForPrograms =
    100;  // columns of a screen that have room for them

// The program that most samples of each key are of, in it or in what it calls: "nginx", or
// "nginx, …" where there are others. By KeyId; empty where there are no program_groups().
std::vector<std::string> programs_of_keys(const Profile& profile,
                                          std::span<const SampleCount> samples,
                                          const FrameKeys& keys);

// The place of most samples of a function or line, "/src/server.go:12"; only the file if no
// line is known, empty if no file is. Directories that say nothing are left out, as in
// "./malloc/./malloc.c" and "./string/../sysdeps/memmove.S". Fit for a terminal.
std::string hottest_line(const Profile& profile, const Total& total);

}  // namespace gosym
