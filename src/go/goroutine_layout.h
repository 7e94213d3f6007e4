#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "go/module.h"
#include "model/address.h"

namespace gosym::go {

// Offsets, in two structures of the runtime of a Go version, of what tells goroutines apart, on
// machines of 64 bits. Nothing in a program says so; they were read from the DWARF of programs
// of each version.
//
//   g   a goroutine, or one of the stacks that each thread has for the runtime and for C code
//       (m's g0) and for signal handlers (m's gsignal)
//         0  bounds of the stack: lowest address, first address after it
//            m, the thread that runs it
//            sched, the registers that it left its stack with: sp, pc 8 bytes on, and from
//            Go 1.7 on, whose code keeps frame pointers, bp; else 0 is told of that
//            goid, its number
//            labels, of runtime/pprof: 0, or a pointer to a map or a slice; 0 is told of
//            releases before Go 1.9
//            stkbar, of Go 1.5 to 1.8: a slice of pairs, the place of a return address that the
//            collector has replaced by that of runtime.stackBarrier, and what was there; behind
//            it stkbarPos, the number of those that are passed; else 0 is told
//            stackguard, of Go 1.2 and 1.3; else 0 is told
//   m   a thread
//         0  g0
//            gsignal
//            curg, the goroutine that it runs
//
// In Go 1.2 and 1.3 a stack is of segments. A g has, in place of the bounds, the upper end of
// the segment in use at 8 (stackbase); stackguard is 256 bytes above the lower one. Where the
// segment ends the runtime keeps how to go back to the one before:
//
//         8  stackbase of that
//        16  its sp, and pc 8 bytes on, to which the first function of the segment in use
//            returns
//        64  u32: bytes of arguments of that function, which were copied below; below them lies
//            its return address here, runtime.lessstack
//
// m is not in g (0 is told), but behind the pointer to g in the memory of the thread. Nothing
// tells these two releases apart: where they differ, as with goid, 0 is told.
//
// The labels point to, up to Go 1.23, a pointer to a map[string]string:
//
//   map     0 count   9 u8, log2 of the number of buckets   16 buckets   24 old buckets
//   bucket  u8[8], one a slot: below 5 means there is nothing
//           8 keys of 16 bytes, 8 values of 16 bytes, pointer to a bucket that goes on with it
//
// From Go 1.24 on to a slice (pointer, length, capacity) of pairs of key and value. A string is
// pointer and length.
struct RuntimeLayout {
  uint16_t g_m = 0;
  uint16_t g_sched_sp = 0;
  uint16_t g_sched_bp = 0;
  uint16_t g_goid = 0;
  uint16_t g_labels = 0;
  uint16_t g_stack_barriers = 0;
  uint16_t g_stack_guard = 0;
  uint16_t m_gsignal = 0;
  uint16_t m_curg = 0;
  bool has_label_map = false;
  // Bytes of the frame of cgocallback, the return address and the saved frame pointer with it:
  // of the function that calls cgocallbackg on the goroutine's stack. From the assembly.
  uint8_t callback_frame = 0;

  bool operator==(const RuntimeLayout&) const = default;
};

// The 23 of "go1.23.4", "go1.24rc1", "go1.25.1 X:name". None for versions that are no releases
// and may still change: "go1.26-devel_...", "go1.26beta1".
std::optional<uint32_t> minor_of_release(std::string_view version);

// A row of a table of what releases of Go have, in order of these: from Go 1.`first_minor` on,
// until the release of the next row.
template <class Value>
struct ReleaseRow {
  uint32_t first_minor;
  Value value;
};
// None of a release before the first row.
template <class Value, size_t count>
std::optional<Value> value_in(const ReleaseRow<Value> (&rows)[count], uint32_t minor) {
  std::optional<Value> value;
  for (const ReleaseRow<Value>& row : rows)
    if (minor >= row.first_minor)
      value = row.value;
  return value;
}

// The version that Go 1.2 and 1.3 go by, whose programs do not tell theirs.
inline constexpr std::string_view kVersionWithSegments = "go1.3";

// Layout of a version as the build information has it: "go1.23.4", "go1.24rc1". None for
// versions whose layout is not known, those not yet released among them.
std::optional<RuntimeLayout> runtime_layout(std::string_view go_version);

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

// Offsets of further fields of a g (above), which tell where a goroutine waits:
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

// Places where runtime.allgs may lie, the slice of all goroutines that a program ever had at a
// time: three words, the address of an array of pointers to g (above), its length
// and its capacity. Goroutines that have ended stay in it, to be used again.
//
// runtime.allgadd reads and writes all three words of this one, each by an instruction that
// names it by its distance (code_operands.h).
//
// Places of three such words in a row are given; what else lies next to them makes it more than
// one. Empty if the function is not there. Which of them it is its value tells.
std::vector<ImageAddress> find_allgs(const Module& module);

// Searches the code of runtime.allgadd, which lies at `address`.
std::vector<ImageAddress> find_allgs(uint16_t machine, Bytes code, ImageAddress address);

// Place where each thread of a program keeps a pointer to its g (above): an offset from the
// thread pointer, fs on x86-64. On arm64 only programs with C code keep it there; x28 has it
// where Go code runs. The linker knows the offset in an executable; in a library it is known
// when that is loaded, and the dynamic linker writes it to a word.
struct GoroutinePointer {
  int64_t offset = 0;
  std::optional<ImageAddress> offset_at;  // then `offset` means nothing

  bool operator==(const GoroutinePointer&) const = default;
};

// Looks for the only code that says so in the same way in every program, whatever was stripped
// from it: at the start the runtime tries thread-local storage out by storing 0x123 where g
// will be (rt0_go, in Go 1.2 to 1.27).
//
//   executable        64 48 c7 04 25 OFFSET 23 01 00 00    mov QWORD PTR fs:OFFSET, 0x123
//   PIE               48 c7 c3 OFFSET                      mov rbx, OFFSET
//                     64 48 c7 03 23 01 00 00              mov QWORD PTR fs:[rbx], 0x123
//   library           48 8b 1d DISTANCE                    mov rbx, [rip + DISTANCE]
//                     64 48 c7 03 23 01 00 00              mov QWORD PTR fs:[rbx], 0x123
//
// OFFSET and DISTANCE are i32. `code` is loaded at `address`; none if it has no such place.
std::optional<GoroutinePointer> find_goroutine_pointer(Bytes code, ImageAddress address);

// Likewise for arm64, where runtime.load_g has it, or runtime.save_g, which stores it:
//
//   d53bd040                             mrs x0, tpidr_el0
//   executable                           movz x27, OFFSET
//    or                                  movz x27, OFFSET >> 16, lsl 16
//                                        movk x27, OFFSET & 0xffff
//   else                                 adrp x27, PAGE; ldr x27, [x27, OFFSET_IN_PAGE]
//   f87b681c, or f83b681c                ldr x28, [x0, x27], or str
std::optional<GoroutinePointer> find_goroutine_pointer_arm64(Bytes code, ImageAddress address);

// Code that the searches above have to see at once: a multiple of what instructions have.
inline constexpr size_t kGoroutinePointerCode = 16;

}  // namespace gosym::go
