#pragma once

#include <cstdint>
#include <optional>

namespace gosym {

// The place that the offset of a saved value is counted from.
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

// The way to the caller of a function that is stopped at one address: its stack pointer is the
// CFA, its program counter and frame pointer lie at places of the stack. This is what the call
// frame information of a compiler comes to, and Go's tables of stack depths, for all but a few
// addresses; for those it has to be evaluated with what the registers and the stack hold.
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
  // The caller was interrupted: its address follows no call, and is no return address.
  bool is_signal_frame = false;
  // The caller may lie on another stack, which the thread has left here: then the place of the
  // frame is none of this one.
  bool may_have_left = false;
  // Nothing of the above, save whether it is a signal frame: the values are to be asked for.
  bool is_evaluated = false;

  bool operator==(const UnwindRule&) const = default;
};

// The rule where a signal handler returns to, on x86-64: the interrupted state lies in the
// ucontext at the stack pointer (struct rt_sigframe of Linux), rbp at 120, rsp at 160, rip at
// 168.
inline constexpr UnwindRule kSignalReturn = {.cfa = {Anchor::kStackPointer, 160},
                                             .is_cfa_loaded = true,
                                             .return_kind = UnwindRule::ReturnAddress::kOnStack,
                                             .return_address = {Anchor::kStackPointer, 168},
                                             .frame_kind = UnwindRule::FramePointer::kOnStack,
                                             .frame_pointer = {Anchor::kStackPointer, 120},
                                             .is_signal_frame = true,
                                             .may_have_left = false,
                                             .is_evaluated = false};

// Likewise on arm64, where a siginfo lies before the ucontext: x29 at 544, sp at 560, pc at
// 568.
inline constexpr UnwindRule kSignalReturnArm64 = {
    .cfa = {Anchor::kStackPointer, 560},
    .is_cfa_loaded = true,
    .return_kind = UnwindRule::ReturnAddress::kOnStack,
    .return_address = {Anchor::kStackPointer, 568},
    .frame_kind = UnwindRule::FramePointer::kOnStack,
    .frame_pointer = {Anchor::kStackPointer, 544},
    .is_signal_frame = true,
    .may_have_left = false,
    .is_evaluated = false};

// The registers and the stack of a stopped function, for the evaluation of its rule. Registers
// have the numbers that DWARF gives them.
class MachineState {
public:
  virtual ~MachineState() = default;
  // None for what is not known. The first two are no general registers.
  virtual std::optional<uint64_t> stack_pointer() = 0;
  virtual std::optional<uint64_t> frame_pointer() = 0;
  virtual std::optional<uint64_t> register_value(uint64_t number) = 0;
  virtual std::optional<uint64_t> word_at(uint64_t address) = 0;
};

// The place of the value that a register had in the caller.
struct CallerRegister {
  enum class Kind : uint8_t {
    kLost,
    kUnchanged,
    kInRegister,  // in the general one with the number `value`
    kOnStack,     // it lies at the address `value`
    kValue,       // it is `value`
  };
  Kind kind{};
  uint64_t value = 0;
};

// A rule that was evaluated.
struct CallerFrame {
  uint64_t cfa = 0;
  uint64_t stack_pointer = 0;
  CallerRegister return_address;
  CallerRegister frame_pointer;
};

}  // namespace gosym
