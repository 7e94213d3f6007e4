#pragma once

#include <cstdint>
#include <string_view>

namespace gosym {

// The kind of a function for the stack walk of Go's runtime.
enum class FunctionKind : uint8_t {
  kNormal,
  kWrapper,   // made by the compiler to call another function: left out of stacks
  kPanic,     // runtime.gopanic, runtime.panicwrap: a wrapper that calls these is shown
  kSigpanic,  // runtime.sigpanic: as kPanic, and it returns to where a fault came
  kInjected,  // runtime.asyncPreempt, debugCall: returns to where the code was interrupted
};

// True if a wrapper that calls such a function stays in the stack.
constexpr bool shows_wrappers(FunctionKind callee) {
  return callee == FunctionKind::kPanic || callee == FunctionKind::kSigpanic;
}

// True if a function that calls such a one is left out of stacks.
constexpr bool is_hidden(FunctionKind kind, FunctionKind callee) {
  return kind == FunctionKind::kWrapper && !shows_wrappers(callee);
}

// True if such a function returns to the interrupted instruction, not to one after a call.
constexpr bool returns_to_interrupted(FunctionKind callee) {
  return callee == FunctionKind::kSigpanic || callee == FunctionKind::kInjected;
}

// One call at a code address, as a source of symbols knows it. The views live as long as the
// image they came from.
struct Call {
  std::string_view function;  // as the linker has it
  std::string_view file;      // empty if unknown
  uint32_t line = 0;          // 0 if unknown
  uint32_t start_line = 0;    // of the function; 0 if unknown
  FunctionKind kind = FunctionKind::kNormal;
  bool is_inlined = false;  // into the next
  // The file that declares the function, whatever file the line is of; empty if unknown.
  std::string_view declared = {};
};

}  // namespace gosym
