#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "commands/goroutines/source.h"
#include "goroutine/goroutines.h"
#include "goroutine/labels.h"
#include "model/call.h"

namespace gosym {

// The goroutines of a process, with names. Views live as long as the code that they are of.
struct NamedGoroutines {
  std::string program;     // path of the file whose goroutines these are
  std::string go_version;  // "go1.23.4"; empty: unknown
  std::span<const std::string_view> wait_reasons;
  uint32_t crashed = 0;  // of a core file: the thread that the signal came to; 0: unknown
  // CLOCK_MONOTONIC of the program; where that is not known, as of a core file, some time
  // before.
  uint64_t time = 0;
  Goroutines goroutines;
  std::vector<std::vector<GoroutineLabel>> labels;  // as goroutines.all
  std::map<uint64_t, std::vector<Call>> calls;      // at each address; none: nobody knows

  // The frames of a stack, innermost first.
  std::vector<Call> all_calls(const Goroutine& goroutine) const;
  // The frames that Go's tracebacks have (with `has_system` all of them): without wrappers and
  // the functions of the runtime, except those that programs call and runtime.gopanic; but all
  // of them where nothing would be left, as of a goroutine that has not run yet and begins with
  // a wrapper.
  std::vector<Call> stack(const Goroutine& goroutine, bool has_system) const;
  // Place of the go statement that made it; empty function: not known, or in the runtime,
  // unless `has_system`.
  Call creator(const Goroutine& goroutine, bool has_system) const;
  // True if it is one of the runtime's own, and runs nothing but that: tracebacks leave it out.
  bool is_system(const Goroutine& goroutine) const;

  const std::vector<GoroutineLabel>& labels_of(const Goroutine& goroutine) const {
    return labels[static_cast<size_t>(&goroutine - goroutines.all.data())];
  }

  // Names what it does or waits for: "chan receive", "running", "syscall".
  std::string state(const Goroutine& goroutine) const;
  // Whole minutes that it has waited, or more: the collector looks at it now and then.
  uint64_t minutes(const Goroutine& goroutine) const;
};

// Reads the goroutines of each Go runtime in the process: a library of Go brings its own.
Result<std::vector<NamedGoroutines>> read_named_goroutines(const GoroutineSource& source);

}  // namespace gosym
