#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "go/runtime_layout.h"

namespace gosym::go {

// State of a goroutine, g.atomicstatus, the same in Go 1.15 to 1.27. The collector adds
// kScanned while it reads the stack.
enum class GoroutineStatus : uint32_t {
  kIdle = 0,
  kRunnable = 1,
  kRunning = 2,
  kSyscall = 3,
  kWaiting = 4,
  kDead = 6,
  kCopiesStack = 8,
  kPreempted = 9,
  kLeaked = 10,     // from Go 1.26 on: it waits for what nobody can give it any more
  kDeadExtra = 11,  // likewise: of a thread of C
};
inline constexpr uint32_t kScanned = 0x1000;

// The word of Go's tracebacks: "runnable"; empty for a value that is no status.
std::string_view to_string(GoroutineStatus status);

// Offsets of further fields of a g (runtime_layout.h), which tell where a goroutine waits:
//
//   status         u32
//   wait_since     i64: CLOCK_MONOTONIC in nanoseconds when the collector first saw it wait
//   wait_reason    u8: an index into the texts of the version
//   switch_count   u8: counts how often it has ceased to run, from Go 1.17 on; else 0 is
//                  told of the offset
//   syscall_sp     word, and syscall_pc behind it: where it left for the kernel or for C code
//   locked_thread  word: the m that alone may run it, or 0
//   parent         u64: the number of the goroutine that made it, from Go 1.21 on; else 0 is
//                  told of the offset
//   created_at     word: where the go statement returns to
//   start          word: the function that it began with
//
// and of an m: thread_id, u64.
//
// They were read from the DWARF of programs of each version, from Go 1.15 on.
struct GoroutineLayout {
  RuntimeLayout runtime;
  uint16_t status = 0;
  uint16_t wait_since = 0;
  uint16_t wait_reason = 0;
  uint16_t switch_count = 0;
  uint16_t syscall_sp = 0;
  uint16_t locked_thread = 0;
  uint16_t parent = 0;
  uint16_t created_at = 0;
  uint16_t start = 0;
  uint16_t thread_id = 0;
  // By number; the first is empty.
  std::span<const std::string_view> wait_reasons;

  // Bytes of a g from its begin that hold all of these.
  uint16_t size() const { return static_cast<uint16_t>(runtime.g_labels + 8); }
};

inline constexpr uint32_t kFirstGoroutineMinor = 15;  // Go 1.15

// nullopt for older versions, and for versions whose layout is not known.
std::optional<GoroutineLayout> goroutine_layout(std::string_view go_version);

// Layout of the newest release, for a version whose layout is not known: its values have to be
// checked, and it has no wait reasons, as numbers may have got other meanings.
GoroutineLayout newest_goroutine_layout();

}  // namespace gosym::go
