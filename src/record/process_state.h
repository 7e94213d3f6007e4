#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "record/files/archive.h"
#include "record/files/perf_maps.h"
#include "record/stacks/code_rules.h"
#include "record/stacks/stack_slots.h"

namespace gosym {

// State of a process in the recorder, from its first event or sample on. All of it is forgotten
// at once, when the process has ended and its last samples have come.
//
// HeldEvents alone has a table of its own: most processes in it never have a sample, it keeps
// what was before an exec beside what is after, and it is emptied when it has too many.
struct ProcessState {
  bool is_followed = false;     // a target or a child of one
  bool is_sampled = false;      // there are samples of it
  bool is_in_part = false;      // also in the file that is written now
  bool has_go_program = false;  // the sampler knows it

  // Its program runs since the last fork or exec that was given out. What is given out of an
  // earlier time is of an earlier program, and says nothing of this state.
  uint64_t program_since = 0;

  // When the mappings of its program might not be read. Of the next program events tell.
  std::optional<uint64_t> unreadable_at;
  uint32_t unread_count = 0;  // times that it could not be read

  // Its code by all events that were drained. The members below are as of those that were
  // handled.
  CodeRanges code;
  uint64_t code_since = 0;                  // when the last of it was mapped or inherited
  CodeRules::Places places;                 // code that its program has mapped
  Archive::Images images;                   // files that its program has mapped
  std::optional<PerfMaps::Place> perf_map;  // none: no code but that of files

  // Not all events since then have come, so its mappings are to be read from /proc.
  std::optional<uint64_t> incomplete_since;
  // Nothing is known to be lost, but there are samples of code of which none has told.
  bool lacks_only_code = false;
  uint64_t read_at = 0;  // when that was done last

  // Memory that was mapped in the place of a file's code, when that was done last, and how
  // often there was no copy of the code in it.
  CodeRanges maybe_copied;
  uint64_t maybe_copied_since = 0;
  uint32_t copy_tries = 0;

  // Samples of code of which nothing was known then: how many, since when, and one of their
  // addresses.
  uint64_t unplaced_count = 0;
  uint64_t unplaced_since = 0;
  uint64_t unplaced_address = 0;

  // When a thread of it ended last. Set with the end of the first thread: others may go on, or
  // execute another program, and are the first from then on.
  std::optional<uint64_t> ended_at;
  bool is_gone = false;  // the last thread has ended too
};

// References stay valid until the process is erased.
using ProcessTable = std::unordered_map<uint32_t, ProcessState>;

}  // namespace gosym
