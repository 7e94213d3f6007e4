#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "go/module.h"

namespace gosym::go {

// Something that holds for every table that a Go linker wrote: how often it was looked at, and
// how often it did not hold.
struct Check {
  std::string_view invariant{};
  uint64_t checked = 0;
  uint64_t failed = 0;
  std::string first_failure{};  // where, and what is there; printable

  // Counts one; `describe` is asked for the first failure only.
  template <class Describe>
  bool expect(bool holds, Describe describe) {
    checked++;
    if (!holds && failed++ == 0)
      first_failure = describe();
    return holds;
  }
};

struct CheckReport {
  std::vector<Check> checks;
  uint64_t functions = 0;
  uint64_t holes = 0;  // places in functab without a function: healthy up to Go 1.17

  bool is_whole() const;
};

// Looks at all of a table: functab here, functions in check_function.h, what the whole program
// shares in check_tables.h. What is said to hold was found to do so in programs of Go 1.3 to
// 1.27, on all machines.
CheckReport check_module(const Module& module);

}  // namespace gosym::go
