#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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

// The version that Go 1.2 and 1.3 go by, whose programs do not tell theirs.
inline constexpr std::string_view kVersionWithSegments = "go1.3";

// Layout of a version as the build information has it: "go1.23.4", "go1.24rc1". None for
// versions whose layout is not known, those not yet released among them.
std::optional<RuntimeLayout> runtime_layout(std::string_view go_version);

}  // namespace gosym::go
