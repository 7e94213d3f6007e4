#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/profile.h"

// What replay finds beside a profile, and what unwind makes use of: the words of stacks.

namespace gosym {

// A word of a user stack that points to code, or to a place of that stack; or a register.
struct StackSlot {
  // As wide as the others, for it is hashed with them.
  enum class Kind : uint32_t { kLocation, kPlace, kNumber };

  uint32_t offset = 0;  // from the stack pointer, in bytes; of registers as StackWord has it
  Kind kind{};
  // The id of a location, as if it were returned to; an offset from the stack pointer; or a
  // number.
  uint32_t value = 0;

  bool operator==(const StackSlot&) const = default;
};

// What a user stack was like when it was sampled, for whoever looks for callers in it.
struct StackState {
  uint64_t frame_offset = kNoFrame;  // as in RecordedSample
  uint32_t top = 0;                  // number of the top of the stack
  StackEnd end{};
  // How many of its last locations are of a goroutine's own stack, when the thread was on
  // another one.
  uint32_t goroutine_depth = 0;
  // Which of the locations of its user code stands for frames that are left out; 0: none does.
  uint32_t gap = 0;
};

// Of the last stacks of a profile, until their callers have been looked for.
struct StackDumps {
  size_t first_stack = 0;          // those before have callers
  std::vector<StackState> states;  // of each stack from there on
  // The slots of all dumps, by offset; dump i is [begins[i], begins[i + 1]).
  std::vector<StackSlot> slots;
  std::vector<uint32_t> begins = {0};

  std::span<const StackSlot> dump(uint32_t number) const {
    return std::span(slots).subspan(begins[number], begins[number + 1] - begins[number]);
  }
  void clear() {
    first_stack += states.size();
    states.clear();
    slots.clear();
    begins.assign(1, 0);
  }
};

}  // namespace gosym
