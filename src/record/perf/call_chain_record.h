#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

// A sample as the kernel writes it into the ring of a perf event (linux/perf_event.h), for the
// attributes that CallChainSampler sets. Integers have the byte order of the machine.
//
//   record := u32 type (9), u16 misc, u16 size, body      size: of the whole record
//   body   := u64 id of the event, u32 pid, u32 tid, u64 time,
//             u64 period, if the event is sampled at a frequency,
//             u64 count, count * u64 chain,
//             u64 abi, if that is not 0: registers
//             u64 size, if that is not 0: size * byte stack, u64 taken
//
// The chain has addresses, innermost first, and markers, from -4095 up, of what follows: -128
// the kernel's part, -512 the user's, others parts that are of no interest. The user's part
// begins with the pc, and may end with a 0, which is no address.
//
// registers: on x86-64 u64 ax, bx, cx, dx, si, di, bp, sp, ip, r8, ..., r15; on arm64 u64 x29,
// sp, pc.
//
// abi: 0 there are no user registers, as in a kernel thread; 1 of 32 bits, 2 of 64. The first
// `taken` bytes of `stack` are what lies from the stack pointer on.

namespace gosym {

struct CallChain {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t period = 0;  // events since the sample before; 0: as was asked for
  std::vector<uint64_t> kernel_stack;
  std::vector<uint64_t> user_stack;
  uint64_t frame_pointer = 0;
  uint64_t stack_pointer = 0;       // the next multiple of 8 below
  uint64_t misaligned = 0;          // bytes that it is above that
  std::vector<uint64_t> registers;  // by the numbers that DWARF gives them; empty on arm64
  std::vector<uint64_t> top;        // the stack from there on; empty of a process of 32 bits
};

// True if a record, which is all there, is a sample.
bool is_call_chain(Bytes record);

// The kernel's number for the event that a sample was taken of; none if it is too short.
std::optional<uint64_t> event_id_of(Bytes record);

// `data` is exactly one record.
Result<CallChain> parse_call_chain(Bytes data, bool has_period);

}  // namespace gosym
