#pragma once

#include <cstdint>

namespace gosym {

// What the place of a saved value is counted from.
enum class Anchor : uint8_t {
  kStackPointer,
  kFramePointer,
  kCfa,  // the canonical frame address: the stack pointer of the caller, before its call
};

struct StackPlace {
  Anchor anchor{};
  int32_t offset = 0;  // bytes

  bool operator==(const StackPlace&) const = default;
};

// How to find the caller of a function that is stopped at one address: its stack pointer is the
// CFA, its program counter and frame pointer lie at places of the stack. This is what the call
// frame information of a compiler comes to, and Go's tables of stack depths, for all but a few
// addresses.
struct UnwindRule {
  enum class ReturnAddress : uint8_t {
    kOnStack,
    kInRegister,  // the link register of arm64
    kNone,        // the function is the root of its stack
  };
  enum class FramePointer : uint8_t {
    kUnchanged,
    kOnStack,
    kLost,  // overwritten, and saved in no place that can be told
  };

  StackPlace cfa{};
  bool is_cfa_loaded = false;  // the CFA is the word that lies there, not the place itself
  ReturnAddress return_kind{};
  StackPlace return_address{};
  FramePointer frame_kind{};
  StackPlace frame_pointer{};
  // What is returned to was interrupted: it follows no call, and is no return address.
  bool is_signal_frame = false;

  bool operator==(const UnwindRule&) const = default;
};

}  // namespace gosym
