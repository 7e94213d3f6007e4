#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace gosym {

// The kinds of files that a profile can be made of.
enum class InputKind {
  kRecording,  // cpu.raw, and whatever is none of the others: its reader says what it is
               // instead
  kPprof,      // a profile.proto, compressed by gzip or plain
  kPage,       // what gosym report --html writes
  kFolded,     // lines of a stack and a number, as flamegraph.pl reads them
};

// "a recording", "a pprof profile", "folded text".
std::string_view to_string(InputKind kind);

// One of the two profiles of a page that compares them (gosym diff --html).
enum class Side : uint8_t { kBefore, kAfter };
// The error if a side is asked for, and the file is no such page: wrong usage.
Error no_sides();

// So much of a file tells its kind, if there is as much.
inline constexpr size_t kKindBytes = 4096;

// By what the file begins with, whatever it is called.
InputKind detect_input_kind(std::string_view begin);

// Makes a profile of the whole of a file that holds one, of any kind but a recording, in no
// more than about `memory_budget` bytes. `side` selects one of the two profiles of a page that
// compares.
Result<Profile> read_profile(InputKind kind, std::string_view file, uint64_t memory_budget,
                             std::optional<Side> side = {});

}  // namespace gosym
