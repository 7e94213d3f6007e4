#pragma once

#include <elf.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sequence_pool.h"
#include "go/goroutine_layout.h"
#include "model/unwind_rule.h"
#include "proc/process.h"

namespace gosym {

inline constexpr uint64_t kGoWord = 8;  // bytes of a pointer

// Result of walking a goroutine's stack.
enum class GoroutineStack : uint8_t {
  kWhole,    // it leads to where the goroutine began
  kCut,      // it ends before, in code that nobody knows
  kDeep,     // it ends before, as no more than kMaxStackSize of it is read
  kRunning,  // it was on a CPU: its stack changes
  kMoving,   // it ran each time that it was looked at, and waited before and after
};

struct Goroutine {
  uint64_t address = 0;  // address of its g
  uint64_t number = 0;   // goid
  uint64_t parent = 0;   // the number of the one that made it; 0: unknown
  go::GoroutineStatus status{};
  uint8_t wait_reason = 0;  // GoroutineLayout::wait_reasons; 0: none
  bool is_locked = false;   // to a thread
  // CLOCK_MONOTONIC in nanoseconds, when the collector first saw it wait; 0: it did not yet.
  uint64_t waits_since = 0;
  uint64_t thread_address = 0;  // address of its m; 0: it has none
  uint32_t thread = 0;          // the id of that thread; 0: unknown
  uint64_t created_at = 0;      // return address of the go statement; 0: not known
  uint64_t start = 0;           // the function that it began with
  uint64_t labels = 0;          // labels of runtime/pprof (goroutine_layout.h); 0: none
  GoroutineStack stack_state{};
  // Addresses of calls, innermost first: one less than a return address.
  uint32_t stack = 0;  // number in Goroutines::stacks
};

struct Goroutines {
  std::vector<Goroutine> all;      // those that live, by number
  SequencePool<uint64_t> stacks;   // number 0 is the empty one
  std::vector<std::string> notes;  // what is not told, and why; each a clause
};

// Registers of a thread.
struct ThreadRegisters {
  uint64_t pc = 0;
  uint64_t stack_pointer = 0;
  uint64_t frame_pointer = 0;
  uint64_t link_register = 0;  // arm64 only
};

// Facts about the runtime of a program that are needed to read its goroutines.
struct GoRuntime {
  std::vector<uint64_t> allgs;  // addresses where runtime.allgs may be
  go::GoroutineLayout layout;
  // Rule for the code at an address, which lies in a call instruction; none if it is not known.
  std::function<std::optional<UnwindRule>(uint64_t address)> find_rule;
  // True if a function begins at the address.
  std::function<bool(uint64_t address)> is_entry;
  uint16_t machine = EM_X86_64;  // EM_*
  // The threads of a program that stands still, as in a core file, by id. Then goroutines that
  // were running have a stack too.
  std::map<uint32_t, ThreadRegisters> threads = {};
};

// A call of a stack.
struct StackCall {
  uint64_t call = 0;        // an address of the instruction
  uint64_t returns_to = 0;  // the word on the stack; for the innermost the same as `call`
  // The place of that, in bytes from the stack pointer; UINT64_MAX: in a register.
  uint64_t place = 0;
};

// More bytes of a stack are not read.
inline constexpr uint64_t kMaxStackSize = 1 << 20;

// Reads all goroutines of a program that goes on running. Nothing is stopped, so that each is
// as it was at a moment of its own: its g is read before and after its stack, in one system
// call, and only if both are equal the stack is believed; else it is looked at again.
//
// Whatever the memory holds is taken for hostile: what is read, and what it takes, is bounded.
// Fails if there is no list of goroutines where it should be.
Result<Goroutines> read_goroutines(const GoRuntime& runtime,
                                   const proc::ReadMemory& read_memory);

// Some of the goroutines of a program.
struct SomeGoroutines {
  uint64_t list_size = 0;      // of all, those that have ended included; 0: there is no list
  std::vector<double> counts;  // how many each of them stands for, itself included
  std::vector<Goroutine> all;  // those of them that live
  uint64_t shortened = 0;      // stacks that were cut, as more of them would take too much
  // By Goroutine::stack, of which number 0 is the empty one; until the next look.
  std::span<const std::vector<StackCall>> stacks;
};

// Looks at some goroutines time and again, as a profiler does: at as many as there are numbers
// in `random`, out of [0, 1), behind the first. At as many more it looks no further than at
// their g, of as many as that is enough to tell, look after look, which have moved of late
// (moving_goroutines.h): these are looked at as often as there is room, and those that rest
// rarely, and each stands for all that are as likely to be. Of a short list all are looked at.
//
// A look reads 4 MiB of stacks at most and works for 20 ms, all looks together for a tenth of
// the time: as long as they have worked for more, a look reads 256 KiB. Beyond that stacks are
// cut.
using LookAtSome = std::function<Result<SomeGoroutines>(std::span<const double> random)>;
LookAtSome look_at_some(GoRuntime runtime, proc::ReadMemory read_memory);

}  // namespace gosym
