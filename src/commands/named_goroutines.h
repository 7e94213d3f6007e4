#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/call.h"
#include "commands/live_process.h"
#include "goroutine/go_code.h"
#include "goroutine/goroutines.h"
#include "goroutine/labels.h"

namespace gosym {

// The goroutines of a process, with names. Views live as long as this and the process.
struct NamedGoroutines {
  std::string program;     // path of the file whose goroutines these are
  std::string go_version;  // "go1.23.4"; empty: unknown
  std::span<const std::string_view> wait_reasons;
  uint64_t time = 0;  // CLOCK_MONOTONIC
  Goroutines goroutines;
  std::vector<std::vector<GoroutineLabel>> labels;  // as goroutines.all
  std::map<uint64_t, std::vector<Call>> calls;      // at each address; none: nobody knows

  // Those of a stack, innermost first. As Go's tracebacks have it the functions of the runtime
  // are left out, except those that programs call and runtime.gopanic, unless `has_system`.
  std::vector<Call> stack(const Goroutine& goroutine, bool has_system) const;
  // Where the go statement is that made it; empty function: not known.
  Call creator(const Goroutine& goroutine) const;
  // Whether it is one of the runtime's own, and runs nothing but that: tracebacks leave it out.
  bool is_system(const Goroutine& goroutine) const;

  const std::vector<GoroutineLabel>& labels_of(const Goroutine& goroutine) const {
    return labels[static_cast<size_t>(&goroutine - goroutines.all.data())];
  }

  // What it does or waits for: "chan receive", "running", "syscall".
  std::string state(const Goroutine& goroutine) const;
  // Whole minutes that it has waited, or more: the collector looks at it now and then.
  uint64_t minutes(const Goroutine& goroutine) const;
};

// Of each Go runtime in the process: a library of Go brings its own. `process` names them.
Result<std::vector<NamedGoroutines>> read_named_goroutines(uint32_t pid, LiveProcess& process);

}  // namespace gosym
