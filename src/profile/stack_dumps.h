#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "profile/process_history.h"
#include "profile/profile.h"

// What replay finds beside a profile, and what unwind makes use of: the words of stacks.

namespace gosym {

class LocationTable;

// What a user stack was like when it was sampled, for whoever looks for callers in it.
struct StackState {
  uint64_t frame_offset = kNoFrame;  // as in RecordedSample
  AddressSpace space;                // that its words point to
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
  // Of all dumps, as they were recorded; dump i is [begins[i], begins[i + 1]).
  std::vector<StackWord> words;
  std::vector<size_t> begins = {0};
  // Has the code that words point to, for as long as they are asked for.
  std::shared_ptr<LocationTable> locations;

  std::span<const StackWord> dump(uint32_t number) const {
    return std::span(words).subspan(begins[number], begins[number + 1] - begins[number]);
  }
  void clear() {
    first_stack += states.size();
    states.clear();
    words.clear();
    begins.assign(1, 0);
  }
};

}  // namespace gosym
