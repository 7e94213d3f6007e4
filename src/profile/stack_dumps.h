#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "profile/process_history.h"
#include "profile/profile.h"

// The words of stacks: replay collects them beside a profile, and unwind finds callers in them.

namespace gosym {

class LocationTable;

// The state of a user stack when it was sampled, for the search for callers in it.
struct StackState {
  uint64_t frame_offset = kNoFrame;  // as in RecordedSample
  AddressSpace space;                // that its words point to
  uint32_t top = 0;                  // number of the top of the stack
  StackEnd end{};
  // The places where it goes on on other stacks: `start` counts the locations of its user code.
  // They are [switch_begin, switch_begin + switch_count) of all.
  uint32_t switch_begin = 0;
  uint32_t switch_count = 0;
  bool knows_places = false;  // the recording has noted where the words of these are
  // The index of the location of its user code that stands for frames that are left out; 0:
  // none does.
  uint32_t gap = 0;
  // The place where the goroutine was created, at whose root the stack ends: no part of the
  // stack. None: it is not known, or not wanted.
  std::optional<LocationId> creator = {};
};

// The dumps of the last stacks of a profile, until their callers have been looked for.
struct StackDumps {
  size_t first_stack = 0;          // those before have callers
  std::vector<StackState> states;  // of each stack from there on
  std::vector<StackSwitch> switches;
  // The words of all dumps, as they were recorded; dump i is [begins[i], begins[i + 1]).
  std::vector<StackWord> words;
  std::vector<size_t> begins = {0};
  // Has the code that words point to, for as long as they are asked for.
  std::shared_ptr<LocationTable> locations;

  std::span<const StackWord> dump(uint32_t number) const {
    return std::span(words).subspan(begins[number], begins[number + 1] - begins[number]);
  }
  std::span<const StackSwitch> switches_of(const StackState& state) const {
    return std::span(switches).subspan(state.switch_begin, state.switch_count);
  }
  void clear() {
    first_stack += states.size();
    states.clear();
    switches.clear();
    words.clear();
    begins.assign(1, 0);
  }
};

}  // namespace gosym
