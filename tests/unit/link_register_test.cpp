#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <string>

#include "unwind/stack_walk.h"

namespace gosym::link_register_test {

namespace {

using Word = WalkedWord<uint64_t>;

// Functions of arm64, each with its code at such an address.
constexpr uint64_t kFrameless = 0x1000;
constexpr uint64_t kFramed = 0x2000;    // of 32 bytes, as Go has it
constexpr uint64_t kInjected = 0x3000;  // likewise, by Go's handler of signals
constexpr uint64_t kReturn = 0x4000;    // what a handler of signals returns to
constexpr uint64_t kRoot = 0x5000;

constexpr UnwindRule kFrame = {
    .cfa = {Anchor::kStackPointer, 32},
    .is_cfa_loaded = false,
    .return_kind = UnwindRule::ReturnAddress::kOnStack,
    .return_address = {Anchor::kStackPointer, 0},
    .frame_kind = UnwindRule::FramePointer::kOnStack,
    .frame_pointer = {Anchor::kStackPointer, -8},
    .is_signal_frame = false,
    .may_have_left = false,
    .is_evaluated = false,
};

struct Code {
  using Address = uint64_t;

  std::optional<UnwindRule> rule(Address address) {
    UnwindRule injected = kFrame;
    injected.is_signal_frame = true;
    switch (address) {
      case kFrameless:
        return UnwindRule{.return_kind = UnwindRule::ReturnAddress::kInRegister};
      case kFramed:
        return kFrame;
      case kInjected:
        return injected;
      case kReturn:
        return kSignalReturnArm64;
      case kRoot:
        return UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone};
      default:
        return std::nullopt;
    }
  }
  bool is_return_address(Address) { return true; }
  Address returned_to(Address address) { return address; }
  Address interrupted(Address address) { return address; }
  bool is_go(Address) { return true; }
  std::optional<CallerFrame> evaluate(Address, MachineState&) { return std::nullopt; }
  CallerRegister caller_register(Address, uint64_t, uint64_t, MachineState&) { return {}; }
};

// By place; registers from `kMaxWordOffset` on.
struct Words {
  std::map<uint64_t, Word> words;

  std::optional<Word> at(uint64_t offset) const {
    auto found = words.find(offset);
    return found == words.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Word> register_at(uint64_t number) const {
    return at(offset_of_register(number));
  }
};

constexpr uint64_t kStackPointer = 16;  // the place of the leaf's

// The first digits of the stack's addresses.
std::string walked(const std::vector<uint64_t>& chain, uint64_t frame, const Words& words) {
  Code code;
  StackWalk walk(code, words, std::span(chain),
                 ChainState{.frame_offset = frame, .stack_pointer = kStackPointer});
  walk.run();
  std::string text;
  for (uint64_t address : walk.stack())
    text += fmt::format("{:x}", address >> 12);
  return text + (walk.is_cut() ? " cut" : "");
}

const uint64_t kLink = offset_of_register(kLinkRegister);

}  // namespace

TEST_CASE("unwind: on arm64 a leaf without a frame has its caller in a register") {
  CHECK(walked({kFrameless, kRoot}, 8, {{{kLink, {.address = kFramed}}}}) == "125");
  // One that is not known is left out, and so is what is no code.
  CHECK(walked({kFrameless, kRoot}, 8, {}) == "15");
  CHECK(walked({kFrameless, kRoot}, 8, {{{kLink, {.number = 7}}}}) == "15");
}

TEST_CASE("unwind: on arm64 a frame begins below the stack pointer") {
  Words words{{{8, {.place = 40}}, {16, {.address = kFramed}}, {48, {.address = kRoot}}}};
  CHECK(walked({kFramed, kFramed, kRoot}, 8, {}) == "225");
  CHECK(walked({kFramed}, kNoFrame, words) == "225");
  // Its caller's frame pointer is not saved yet, or loaded again.
  CHECK(walked({kFramed, kRoot}, 40, words) == "225");
}

TEST_CASE("unwind: on arm64 a caller has no return address in a register") {
  CHECK(walked({kFramed, kFrameless, kRoot}, 8, {{{kLink, {.address = kFramed}}}}) == "215");
}

TEST_CASE("unwind: on arm64 what a signal interrupted has its link register on the stack") {
  // Go's handler puts it right below what the interrupted function had of the stack.
  Words injected{
      {{16, {.address = kFrameless}}, {32, {.address = kFramed}}, {48, {.address = kRoot}}}};
  CHECK(walked({kInjected}, kNoFrame, injected) == "3125");
  Words handled{{{16 + 544, {.place = 592}},
                 {16 + 552, {.address = kFramed}},
                 {16 + 560, {.place = 600}},
                 {16 + 568, {.address = kFrameless}},
                 {600, {.address = kRoot}}}};
  CHECK(walked({kReturn}, kNoFrame, handled) == "4125");
}

}  // namespace gosym::link_register_test
