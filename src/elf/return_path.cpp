#include "elf/return_path.h"

#include <elf.h>

#include <deque>
#include <set>

#include "elf/calls.h"
#include "elf/x86_instruction.h"

// A Way goes along the code, instruction by instruction, and knows where the stack pointer and
// the frame pointer lie by what they were where it began. A return on it then tells the
// caller's place. Opcodes are those of the manuals (Intel SDM, volume 2); is() asks for one of
// one byte, extension() for the middle bits of ModRM, which tell instructions of one opcode
// apart.

namespace gosym::elf {

namespace {

using Map = X86Instruction::Map;

constexpr uint8_t kRsp = 4;
constexpr uint8_t kRbp = 5;
constexpr int64_t kWordSize = 8;

// Instructions that are looked at for one address. Returns of real functions are near.
constexpr size_t kMaxInstructions = 2000;
// No frame is that large, and rule_of() can add to it in 32 bits.
constexpr int64_t kMaxOffset = 1 << 30;

// State at an instruction, in terms of the registers where the way began.
struct Way {
  ImageAddress at{};
  size_t calls = 0;  // that it took to come here
  StackPlace stack_pointer{Anchor::kStackPointer, 0};
  std::optional<StackPlace> frame_pointer = StackPlace{Anchor::kFramePointer, 0};
  std::optional<StackPlace> saved{};  // where the caller's was that is in the register again
};

std::optional<StackPlace> moved(std::optional<StackPlace> place, int64_t bytes) {
  if (!place || bytes > kMaxOffset || bytes < -kMaxOffset)
    return std::nullopt;
  int64_t offset = place->offset + bytes;
  if (offset > kMaxOffset || offset < -kMaxOffset)
    return std::nullopt;
  return StackPlace{place->anchor, static_cast<int32_t>(offset)};
}

// True if `reg` of ModRM is a register that the instruction writes: add to xor of the form 03
// (cmp, 3b, is not among them), movsxd, imul, xchg, mov and lea; behind 0f cmov, imul, movzx,
// popcnt, bsf, bsr and movsx. Forms that write 8 bits alone are left out.
bool writes_reg(const X86Instruction& code) {
  if (code.is_vector)
    return false;
  bool is_sum = code.has(Map::kOneByte, 0, 0x37) && (code.opcode & 7) == 3;
  return is_sum || code.is(0x63) || code.is(0x69) || code.is(0x6b) || code.is(0x87) ||
         code.is(0x8b) || code.is(0x8d) || code.has(Map::k0f, 0x40, 0x4f) ||
         code.has(Map::k0f, 0xaf, 0xaf) || code.has(Map::k0f, 0xb6, 0xb8) ||
         code.has(Map::k0f, 0xbc, 0xbf);
}

// Likewise of `rm`, where that is a register (mode 3): add to xor of the form 01, their forms
// with a number (81 and 83, but cmp, /7), not and neg (f7), inc and dec (ff), xchg, mov, shifts
// (c1, d1, d3), mov of a number (c7); behind 0f mov from a vector register.
bool writes_rm(const X86Instruction& code) {
  if (code.is_vector || code.mode() != 3)
    return false;
  bool is_sum = code.has(Map::kOneByte, 0, 0x37) && (code.opcode & 7) == 1;
  bool is_immediate = (code.is(0x81) || code.is(0x83)) && code.extension() != 7;
  bool is_unary =
      (code.is(0xf7) && (code.extension() & 6) == 2) || (code.is(0xff) && code.extension() < 2);
  return is_sum || is_immediate || is_unary || code.is(0x87) || code.is(0x89) ||
         code.is(0xc1) || code.is(0xd1) || code.is(0xd3) || code.is(0xc7) ||
         code.has(Map::k0f, 0x7e, 0x7e);
}

// The register's number may be in the opcode, too: mov of a number (b8) and xchg with rax (91).
bool writes(const X86Instruction& code, uint8_t number) {
  bool in_opcode = code.has(Map::kOneByte, 0xb8, 0xbf) || code.has(Map::kOneByte, 0x91, 0x97);
  return (writes_reg(code) && code.reg() == number) ||
         (writes_rm(code) && code.rm() == number) ||
         (in_opcode && ((code.opcode & 7) | (code.rex & 1) << 3) == number);
}

bool is_wide(const X86Instruction& code) {
  return (code.rex & 8) != 0;
}

// An operand in memory at an offset from one register, and no other. Mode 0 has no offset; it
// is left out, because with the number of rbp it means rip.
bool is_at(const X86Instruction& code, uint8_t number) {
  constexpr uint8_t kRspAlone = 0x24;
  bool is_alone = !code.scale || code.scale == kRspAlone;
  return (code.mode() == 1 || code.mode() == 2) && code.rm() == number && is_alone;
}

// Goes along all ways to a return.
class Search {
public:
  Search(const Image& image, ImageAddress address) : image_(image) { add({.at = address}); }

  std::optional<UnwindRule> run() {
    for (size_t i = 0; i < kMaxInstructions && !ways_.empty(); i++) {
      Way way = ways_.front();
      ways_.pop_front();
      // Ways with more calls count less: one of the calls may not come back.
      if (found_ && way.calls > found_calls_)
        break;
      // Each instruction is followed once, by the way with the fewest calls to it, so loops
      // end.
      if (seen_.insert(way.at).second && !follow(way))
        return std::nullopt;
    }
    return found_;
  }

private:
  // Ways with fewer calls come first.
  void add(const Way& way) {
    // Calls grow by one at most, so two ends of the queue are enough to keep it in order.
    if (ways_.empty() || way.calls > ways_.front().calls)
      ways_.push_back(way);
    else
      ways_.push_front(way);
  }

  // One instruction. False if ways do not agree.
  bool follow(Way way) {
    auto code = image_.is_executable_at(way.at) ? image_.loaded_from(way.at) : std::nullopt;
    auto found = code ? decode_x86(*code) : std::nullopt;
    // An instruction that is not known ends the way, and leaves the answer to others.
    if (!found)
      return true;
    const X86Instruction& next = *found;
    uint64_t behind = to_integer(way.at) + next.size;
    ImageAddress target{behind + static_cast<uint64_t>(next.immediate)};
    way.at = ImageAddress{behind};
    // A jump through a slot (jmp *slot(%rip)) is to another function, which returns to the
    // caller of this one: the stack is as at a return.
    bool is_slot = next.is(0xff) && next.extension() == 4 && next.operands == 0x25;
    if (next.is(0xc3) || next.is(0xc2) || is_slot)
      return take(way);
    if (next.is(0xe9) || next.is(0xeb)) {
      way.at = target;
      add(way);
      return true;
    }
    // Conditional jumps, and loop and jrcxz.
    bool is_branch = next.has(Map::kOneByte, 0x70, 0x7f) ||
                     next.has(Map::kOneByte, 0xe0, 0xe3) ||
                     (next.has(Map::k0f, 0x80, 0x8f) && !next.is_vector);
    if (is_branch) {
      add(way);
      way.at = target;
      add(way);
      return true;
    }
    if (ends_way(next) || !move_registers(next, way))
      return true;
    bool is_call = next.is(0xe8) || (next.is(0xff) && next.extension() == 2);
    // A call in front of a function does not come back.
    if (is_call && begins_function(way.at))
      return true;
    way.calls += is_call ? 1 : 0;
    add(way);
    return true;
  }

  // A jump to where a register leads, a far call or jump, or what no code goes on behind: int3,
  // hlt, far returns, iret, ud2.
  static bool ends_way(const X86Instruction& code) {
    bool is_far = code.is(0xff) && (code.extension() >= 3 && code.extension() <= 5);
    return is_far || code.is(0xcc) || code.is(0xf4) || code.is(0xca) || code.is(0xcb) ||
           code.is(0xcf) || code.has(Map::k0f, 0x0b, 0x0b);
  }

  // True if the next function lies behind a call: the call does not come back.
  bool begins_function(ImageAddress address) const {
    auto code = image_.loaded_from(address);
    bool is_entry = code && as_text(*code).starts_with("\xf3\x0f\x1e\xfa");  // endbr64
    return is_entry || is_padding(image_, address);
  }

  // False if the stack pointer is not known afterwards.
  static bool move_registers(const X86Instruction& code, Way& way) {
    // By their opcodes: pop (58), popf and pop to memory (9d, 8f), leave (c9), enter (c8).
    std::optional<StackPlace> sp = way.stack_pointer;
    if (code.has(Map::kOneByte, 0x58, 0x5f)) {
      pop(code, way);
      sp = code.has_small_size || (code.is(0x5c) && (code.rex & 1) == 0) ? std::nullopt
                                                                         : moved(sp, kWordSize);
    } else if (pushes(code)) {
      sp = code.has_small_size ? std::nullopt : moved(sp, -kWordSize);
    } else if (code.is(0x9d) || (code.is(0x8f) && code.extension() == 0)) {
      sp = moved(sp, kWordSize);
    } else if (code.is(0xc9)) {
      sp = moved(way.frame_pointer, kWordSize);
      restore_frame(way, way.frame_pointer);
    } else if (code.is(0xc8)) {
      // enter may push several words, by its second operand: it is not followed.
      sp = std::nullopt;
    } else if (writes(code, kRsp)) {
      sp = set_stack_pointer(code, way);
    } else if (writes(code, kRbp)) {
      set_frame_pointer(code, way);
    }
    way.stack_pointer = sp.value_or(StackPlace{});
    return sp.has_value();
  }

  // push of a register, of a number of 32 and of 8 bits, pushf, push from memory.
  static bool pushes(const X86Instruction& code) {
    return code.has(Map::kOneByte, 0x50, 0x57) || code.is(0x68) || code.is(0x6a) ||
           code.is(0x9c) || (code.is(0xff) && code.extension() == 6);
  }

  static void pop(const X86Instruction& code, Way& way) {
    if (code.is(0x5d) && (code.rex & 1) == 0)
      restore_frame(way, way.stack_pointer);
  }

  // The frame pointer is loaded from the stack: it is the caller's again, which lay there.
  static void restore_frame(Way& way, std::optional<StackPlace> saved) {
    way.saved = saved;
    way.frame_pointer.reset();
  }

  static std::optional<StackPlace> set_stack_pointer(const X86Instruction& code,
                                                     const Way& way) {
    // add and sub of a number (81, 83), lea (8d), mov from rbp (89).
    bool is_number = (code.is(0x81) || code.is(0x83)) && code.rm() == kRsp;
    // A copy of 32 bits cuts a stack pointer off.
    if (!is_wide(code))
      return std::nullopt;
    if (is_number && code.extension() == 0)
      return moved(way.stack_pointer, code.immediate);
    if (is_number && code.extension() == 5)
      return moved(way.stack_pointer, -code.immediate);
    if (code.is(0x8d) && is_at(code, kRsp))
      return moved(way.stack_pointer, code.displacement);
    if (code.is(0x8d) && is_at(code, kRbp))
      return moved(way.frame_pointer, code.displacement);
    if (code.is(0x89) && code.rm() == kRsp && code.reg() == kRbp)
      return way.frame_pointer;
    return std::nullopt;
  }

  static void set_frame_pointer(const X86Instruction& code, Way& way) {
    bool is_copy = is_wide(code) && code.is(0x89) && code.reg() == kRsp;
    bool is_place = is_wide(code) && code.is(0x8d) && is_at(code, kRsp);
    bool is_load = is_wide(code) && code.is(0x8b) && is_at(code, kRsp);
    // Copied from the stack pointer, taken from a place beside it, or loaded from the stack:
    // anything else loses it.
    way.saved.reset();
    if (is_load)
      restore_frame(way, moved(way.stack_pointer, code.displacement));
    else if (is_copy || is_place)
      way.frame_pointer = moved(way.stack_pointer, is_copy ? 0 : code.displacement);
    else
      way.frame_pointer.reset();
  }

  // The way ends in a return. One to where the way itself has pushed something is none: a call
  // on the way did not come back.
  bool take(const Way& way) {
    if (way.stack_pointer.anchor == Anchor::kStackPointer && way.stack_pointer.offset < 0)
      return true;
    UnwindRule rule = rule_of(way);
    if (found_ && *found_ != rule)
      return false;
    found_ = rule;
    found_calls_ = way.calls;
    return true;
  }

  static UnwindRule rule_of(const Way& way) {
    using FramePointer = UnwindRule::FramePointer;
    // At a return the stack pointer is at the return address, and the CFA right behind that.
    UnwindRule rule;
    rule.cfa = {way.stack_pointer.anchor, way.stack_pointer.offset + 8};
    rule.return_address = {Anchor::kCfa, -8};
    rule.frame_kind = FramePointer::kUnchanged;
    // A place that the way itself has pushed to holds the register as it is now.
    bool is_saved =
        way.saved && (way.saved->anchor != Anchor::kStackPointer || way.saved->offset >= 0);
    if (is_saved) {
      rule.frame_kind = FramePointer::kOnStack;
      rule.frame_pointer = *way.saved;
    } else if (!way.saved && way.frame_pointer != StackPlace{Anchor::kFramePointer, 0}) {
      rule.frame_kind = FramePointer::kLost;
    }
    return rule;
  }

  const Image& image_;
  std::deque<Way> ways_;
  std::set<ImageAddress> seen_;
  std::optional<UnwindRule> found_{};
  size_t found_calls_ = 0;
};

}  // namespace

std::optional<UnwindRule> rule_by_code(const Image& image, ImageAddress address) {
  return image.machine == EM_X86_64 ? Search(image, address).run() : std::nullopt;
}

}  // namespace gosym::elf
