#include "dwarf/expression.h"

#include <dwarf.h>

#include <array>

namespace gosym::dwarf {

namespace {

// Jumps may lead back.
constexpr size_t kMaxSteps = 10'000;

class Evaluation {
public:
  Evaluation(Reader in, MachineState& state) : begin_(in), in_(in), state_(state) {}

  void push(std::optional<uint64_t> value) {
    is_sound_ &= value && depth_ < values_.size();
    if (is_sound_)
      values_[depth_++] = *value;
  }

  std::optional<uint64_t> run() {
    for (size_t step = 0; in_.remaining() > 0; step++) {
      run_one(in_.u8());
      if (!is_sound_ || !in_.ok() || step == kMaxSteps)
        return std::nullopt;
    }
    uint64_t top = pop();
    return is_sound_ ? std::optional(top) : std::nullopt;
  }

private:
  uint64_t pop() {
    is_sound_ &= depth_ > 0;
    return is_sound_ ? values_[--depth_] : 0;
  }

  // The value so far from the top of the stack.
  std::optional<uint64_t> peek(size_t index) const {
    return index < depth_ ? std::optional(values_[depth_ - 1 - index]) : std::nullopt;
  }

  void run_one(uint8_t opcode) {
    if (opcode >= DW_OP_lit0 && opcode <= DW_OP_lit31)
      push(opcode - DW_OP_lit0);
    else if (opcode >= DW_OP_breg0 && opcode <= DW_OP_breg31)
      push_register(opcode - DW_OP_breg0);
    else
      is_sound_ &= run_constant(opcode) || run_stack(opcode) || run_unary(opcode) ||
                   run_jump(opcode) || run_binary(opcode);
  }

  void push_register(uint64_t number) {
    auto offset = static_cast<uint64_t>(in_.svarint64());
    auto value = state_.register_value(number);
    push(value ? std::optional(*value + offset) : std::nullopt);
  }

  // These are false for operations of another kind.
  bool run_constant(uint8_t opcode);
  bool run_stack(uint8_t opcode);
  bool run_unary(uint8_t opcode);
  bool run_jump(uint8_t opcode);
  bool run_binary(uint8_t opcode);

  void rotate();
  void load(uint8_t size);
  void jump(int16_t distance);

  Reader begin_;
  Reader in_;
  MachineState& state_;
  std::array<uint64_t, 64> values_{};
  size_t depth_ = 0;
  bool is_sound_ = true;
};

template <class T>
uint64_t extend(T value) {
  return static_cast<uint64_t>(int64_t{value});
}

bool Evaluation::run_constant(uint8_t opcode) {
  switch (opcode) {
    case DW_OP_const1u:
      push(in_.u8());
      return true;
    case DW_OP_const1s:
      push(extend(static_cast<int8_t>(in_.u8())));
      return true;
    case DW_OP_const2u:
      push(in_.u16());
      return true;
    case DW_OP_const2s:
      push(extend(static_cast<int16_t>(in_.u16())));
      return true;
    case DW_OP_const4u:
      push(in_.u32());
      return true;
    case DW_OP_const4s:
      push(extend(static_cast<int32_t>(in_.u32())));
      return true;
    case DW_OP_addr:
    case DW_OP_const8u:
    case DW_OP_const8s:
      push(in_.u64());
      return true;
    case DW_OP_constu:
      push(in_.uvarint64());
      return true;
    case DW_OP_consts:
      push(extend(in_.svarint64()));
      return true;
    case DW_OP_bregx:
      push_register(in_.uvarint64());
      return true;
    default:
      return false;
  }
}

bool Evaluation::run_stack(uint8_t opcode) {
  switch (opcode) {
    case DW_OP_dup:
      push(peek(0));
      return true;
    case DW_OP_drop:
      pop();
      return true;
    case DW_OP_over:
      push(peek(1));
      return true;
    case DW_OP_pick:
      push(peek(in_.u8()));
      return true;
    case DW_OP_swap: {
      uint64_t first = pop();
      uint64_t second = pop();
      push(first);
      push(second);
      return true;
    }
    case DW_OP_rot:
      rotate();
      return true;
    case DW_OP_nop:
      return true;
    default:
      return false;
  }
}

// The top goes below the two others.
void Evaluation::rotate() {
  uint64_t first = pop();
  uint64_t second = pop();
  uint64_t third = pop();
  push(first);
  push(third);
  push(second);
}

void Evaluation::load(uint8_t size) {
  uint64_t address = pop();
  auto word = is_sound_ ? state_.word_at(address) : std::nullopt;
  if (word && size < 8)
    word = *word & ((uint64_t{1} << (8 * size)) - 1);
  push(size > 0 && size <= 8 ? word : std::nullopt);
}

bool Evaluation::run_unary(uint8_t opcode) {
  switch (opcode) {
    case DW_OP_deref:
      load(8);
      return true;
    case DW_OP_deref_size:
      load(in_.u8());
      return true;
    case DW_OP_plus_uconst:
      push(pop() + in_.uvarint64());
      return true;
    case DW_OP_abs: {
      uint64_t value = pop();
      push(static_cast<int64_t>(value) < 0 ? 0 - value : value);
      return true;
    }
    case DW_OP_neg:
      push(0 - pop());
      return true;
    case DW_OP_not:
      push(~pop());
      return true;
    default:
      return false;
  }
}

void Evaluation::jump(int16_t distance) {
  int64_t target = static_cast<int64_t>(in_.offset()) + distance;
  in_ = begin_;
  in_.bytes(static_cast<uint64_t>(target));  // fails for what lies outside
}

bool Evaluation::run_jump(uint8_t opcode) {
  if (opcode != DW_OP_skip && opcode != DW_OP_bra)
    return false;
  auto distance = static_cast<int16_t>(in_.u16());
  if (opcode == DW_OP_skip || pop() != 0)
    jump(distance);
  return true;
}

std::optional<uint64_t> divide(int64_t left, int64_t right) {
  if (right == 0)
    return std::nullopt;
  // The one quotient that does not fit wraps around.
  return right == -1 ? 0 - static_cast<uint64_t>(left) : static_cast<uint64_t>(left / right);
}

std::optional<uint64_t> shift(uint8_t opcode, uint64_t value, uint64_t bits) {
  if (opcode == DW_OP_shra)
    return static_cast<uint64_t>(static_cast<int64_t>(value) >> std::min<uint64_t>(bits, 63));
  if (bits > 63)
    return 0;
  return opcode == DW_OP_shl ? value << bits : value >> bits;
}

std::optional<bool> compare(uint8_t opcode, int64_t left, int64_t right) {
  switch (opcode) {
    case DW_OP_eq:
      return left == right;
    case DW_OP_ge:
      return left >= right;
    case DW_OP_gt:
      return left > right;
    case DW_OP_le:
      return left <= right;
    case DW_OP_lt:
      return left < right;
    case DW_OP_ne:
      return left != right;
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> calculate(uint8_t opcode, uint64_t left, uint64_t right) {
  switch (opcode) {
    case DW_OP_and:
      return left & right;
    case DW_OP_or:
      return left | right;
    case DW_OP_xor:
      return left ^ right;
    case DW_OP_plus:
      return left + right;
    case DW_OP_minus:
      return left - right;
    case DW_OP_mul:
      return left * right;
    case DW_OP_div:
      return divide(static_cast<int64_t>(left), static_cast<int64_t>(right));
    case DW_OP_mod:
      return right == 0 ? std::nullopt : std::optional(left % right);
    case DW_OP_shl:
    case DW_OP_shr:
    case DW_OP_shra:
      return shift(opcode, left, right);
    default:
      return compare(opcode, static_cast<int64_t>(left), static_cast<int64_t>(right));
  }
}

bool Evaluation::run_binary(uint8_t opcode) {
  uint64_t right = pop();
  uint64_t left = pop();
  push(calculate(opcode, left, right));
  return true;
}

}  // namespace

std::optional<uint64_t> evaluate(Reader expression, MachineState& state,
                                 std::optional<uint64_t> start) {
  Evaluation evaluation(expression, state);
  if (start)
    evaluation.push(*start);
  return evaluation.run();
}

}  // namespace gosym::dwarf
