#include "dwarf/frame_program.h"

#include <dwarf.h>

#include <array>

// Three small machines. Program runs the instructions of an entry, of which only the CFA and a
// few columns are kept; evaluate() with an Anchor follows an expression without knowing the
// registers, and gives up where that is not enough; Evaluation computes one from the registers
// and memory of a thread. All of them run on bytes that a file claims: each has a limit of its
// own for instructions, values or steps, and whatever is not known ends it.

namespace gosym::dwarf {

namespace {

using Kind = ColumnRule::Kind;

// In bytes, of one program. The longest of the 95,000 functions of LLVM takes 2.4 KB. A program
// within the limit runs for a millisecond at the most; a longer one gives no row.
constexpr size_t kMaxInstructions = 64 << 10;
// Compilers remember one row before each epilogue, and nest none.
constexpr size_t kMaxRemembered = 64;

class Program {
public:
  Program(const FrameEntry& entry, const FrameColumns& columns, uint64_t wanted,
          ByteOrder order)
      : entry_(entry), columns_(columns), wanted_(wanted), order_(order) {}

  std::optional<FrameRow> row_at(uint64_t address) {
    // The instructions of the common entry hold at the first byte of every function. Their row
    // is remembered, because `restore` puts a column back to what it was there.
    if (!run(entry_.setup.instructions, address))
      return std::nullopt;
    initial_ = row_;
    if (!run(entry_.instructions, address))
      return std::nullopt;
    // The wanted column may be one of those that have a place of their own.
    const ColumnRule* rule = wanted_ == FrameColumns::kNone ? nullptr : rule_in(row_, wanted_);
    if (rule)
      row_.wanted = *rule;
    return row_;
  }

private:
  bool run(Bytes instructions, uint64_t address);
  bool run_one(Reader& in);
  // These are false for instructions of another kind.
  bool run_location(uint8_t opcode, Reader& in);
  bool run_state(uint8_t opcode, Reader& in);
  bool run_cfa(uint8_t opcode, Reader& in);
  bool run_column(uint8_t opcode, Reader& in);

  void advance(uint64_t delta) { location_ += delta * entry_.setup.code_alignment; }
  void set_cfa(uint64_t column, int64_t offset);
  ColumnRule* rule_in(FrameRow& row, uint64_t column) const;
  void set_rule(uint64_t column, const ColumnRule& rule);
  void restore_rule(uint64_t column);

  static int64_t offset(Reader& in) { return static_cast<int64_t>(in.uvarint64()); }
  static Bytes block(Reader& in) { return in.bytes(in.uvarint64()); }
  // Wraps around, as nothing says that it fits.
  int64_t scaled(int64_t offset) const {
    return static_cast<int64_t>(static_cast<uint64_t>(offset) *
                                static_cast<uint64_t>(entry_.setup.data_alignment));
  }

  const FrameEntry& entry_;
  const FrameColumns& columns_;
  uint64_t wanted_;
  ByteOrder order_;
  uint64_t location_ = 0;
  FrameRow row_;
  FrameRow initial_;
  std::vector<FrameRow> remembered_;
};

bool Program::run(Bytes instructions, uint64_t address) {
  if (instructions.size() > kMaxInstructions)
    return false;
  Reader in(instructions, order_);
  // Both programs begin at the start of the function. The loop ends before the first
  // instruction that holds for code behind the address.
  location_ = entry_.begin;
  while (in.remaining() > 0 && location_ <= address)
    if (!run_one(in) || !in.ok())
      return false;
  return true;
}

bool Program::run_one(Reader& in) {
  // The upper two bits tell an instruction with its operand in the others; where both are 0,
  // the whole byte is the instruction.
  uint8_t opcode = in.u8();
  uint8_t operand = opcode & 0x3f;
  switch (opcode & 0xc0) {
    case DW_CFA_advance_loc:
      advance(operand);
      return true;
    case DW_CFA_offset:
      set_rule(operand, {Kind::kOffset, scaled(offset(in))});
      return true;
    case DW_CFA_restore:
      restore_rule(operand);
      return true;
    default:
      return run_location(opcode, in) || run_state(opcode, in) || run_cfa(opcode, in) ||
             run_column(opcode, in);
  }
}

bool Program::run_location(uint8_t opcode, Reader& in) {
  switch (opcode) {
    // Each delta counts from the location before it.
    case DW_CFA_advance_loc1:
      advance(in.u8());
      return true;
    case DW_CFA_advance_loc2:
      advance(in.u16());
      return true;
    case DW_CFA_advance_loc4:
      advance(in.u32());
      return true;
    default:
      return false;
  }
}

bool Program::run_state(uint8_t opcode, Reader& in) {
  switch (opcode) {
    case DW_CFA_nop:
    // Two names of one number. SPARC saves its register windows; on 64-bit ARM the signature
    // of return addresses goes on or off, and a mask takes it off (proc/process.h).
    case DW_CFA_GNU_window_save:  // 2d
      return true;
    // The size of arguments that the function has pushed matters to handlers of exceptions
    // only.
    case DW_CFA_GNU_args_size:
      in.uvarint64();
      return true;
    case DW_CFA_remember_state:
      // Rows may be remembered over and over: their number is bounded, as is that of their
      // columns.
      remembered_.push_back(row_);
      return remembered_.size() <= kMaxRemembered;
    case DW_CFA_restore_state:
      if (remembered_.empty())
        return false;
      // A row is restored as a whole, with its CFA, as GCC and libdw do; DWARF speaks of the
      // registers alone.
      row_ = remembered_.back();
      remembered_.pop_back();
      return true;
    default:
      return false;
  }
}

void Program::set_cfa(uint64_t column, int64_t offset) {
  row_.cfa_column = column;
  row_.cfa_offset = offset;
  row_.cfa_expression = {};
}

bool Program::run_cfa(uint8_t opcode, Reader& in) {
  // The instructions that set one half of the rule leave the other half as it was.
  uint64_t column = row_.cfa_column;
  switch (opcode) {
    case DW_CFA_def_cfa:
      column = in.uvarint64();
      set_cfa(column, offset(in));
      return true;
    case DW_CFA_def_cfa_sf:
      column = in.uvarint64();
      set_cfa(column, scaled(in.svarint64()));
      return true;
    case DW_CFA_def_cfa_register:
      set_cfa(in.uvarint64(), row_.cfa_offset);
      return true;
    case DW_CFA_def_cfa_offset:
      set_cfa(column, offset(in));
      return true;
    case DW_CFA_def_cfa_offset_sf:
      set_cfa(column, scaled(in.svarint64()));
      return true;
    // The CFA is an expression until one of the others sets it again.
    case DW_CFA_def_cfa_expression:
      row_.cfa_expression = block(in);
      return true;
    default:
      return false;
  }
}

// Null for the columns that do not matter. A column is kept in one place while the program
// runs: not in FrameRow::wanted if it is one of the three before it.
ColumnRule* Program::rule_in(FrameRow& row, uint64_t column) const {
  if (column == entry_.setup.return_column)
    return &row.return_address;
  if (column == columns_.stack_pointer)
    return &row.stack_pointer;
  if (column == columns_.frame_pointer)
    return &row.frame_pointer;
  return column == wanted_ ? &row.wanted : nullptr;
}

void Program::set_rule(uint64_t column, const ColumnRule& rule) {
  if (ColumnRule* place = rule_in(row_, column))
    *place = rule;
}

void Program::restore_rule(uint64_t column) {
  // Columns that are not kept have nothing to go back to.
  if (const ColumnRule* rule = rule_in(initial_, column))
    set_rule(column, *rule);
}

bool Program::run_column(uint8_t opcode, Reader& in) {
  // All of these begin with the number of the column, so that it is read before the kind is
  // known. An instruction that is not known fails the program: its operands have no length.
  uint64_t column = in.uvarint64();
  ColumnRule rule;
  switch (opcode) {
    case DW_CFA_restore_extended:
      restore_rule(column);
      return true;
    case DW_CFA_undefined:
      rule = {Kind::kUndefined};
      break;
    case DW_CFA_same_value:
      rule = {Kind::kSame};
      break;
    case DW_CFA_register:
      rule = {Kind::kRegister, offset(in)};
      break;
    case DW_CFA_offset_extended:
      rule = {Kind::kOffset, scaled(offset(in))};
      break;
    case DW_CFA_offset_extended_sf:
      rule = {Kind::kOffset, scaled(in.svarint64())};
      break;
    case DW_CFA_val_offset:
      rule = {Kind::kValue, scaled(offset(in))};
      break;
    case DW_CFA_val_offset_sf:
      rule = {Kind::kValue, scaled(in.svarint64())};
      break;
    case DW_CFA_expression:
      rule = {Kind::kExpression, 0, block(in)};
      break;
    case DW_CFA_val_expression:
      rule = {Kind::kValueExpression, 0, block(in)};
      break;
    default:
      return false;
  }
  set_rule(column, rule);
  return true;
}

}  // namespace

std::optional<FrameRow> find_row(const FrameEntry& entry, const FrameColumns& columns,
                                 ByteOrder order, ImageAddress address, uint64_t wanted) {
  return Program(entry, columns, wanted, order).row_at(to_integer(address));
}

namespace {

// The expression of a stub of the linker takes four.
constexpr size_t kMaxValues = 16;

// A value without an anchor.
std::optional<FrameValue> number(int64_t value) {
  return FrameValue{.offset = value};
}

int64_t sum(int64_t left, int64_t right) {
  return static_cast<int64_t>(static_cast<uint64_t>(left) + static_cast<uint64_t>(right));
}

// Only a place on the stack can be moved; what is loaded is not known.
std::optional<FrameValue> moved(FrameValue value, int64_t bytes) {
  if (value.is_loaded)
    return std::nullopt;
  value.offset = sum(value.offset, bytes);
  return value;
}

// The program counter is known, since the question is about one address; the two pointers
// stand for themselves. Any other register would have to be read.
std::optional<FrameValue> register_value(uint64_t column, int64_t offset,
                                         const FrameColumns& columns, ImageAddress address) {
  if (column == columns.program_counter)
    return number(sum(static_cast<int64_t>(to_integer(address)), offset));
  if (column == columns.stack_pointer)
    return FrameValue{.anchor = Anchor::kStackPointer, .offset = offset};
  if (column == columns.frame_pointer)
    return FrameValue{.anchor = Anchor::kFramePointer, .offset = offset};
  return std::nullopt;
}

// Reads an operation that pushes a value. None for any other.
std::optional<FrameValue> read_operand(uint8_t opcode, Reader& in, const FrameColumns& columns,
                                       ImageAddress address) {
  if (opcode >= DW_OP_lit0 && opcode <= DW_OP_lit31)
    return number(opcode - DW_OP_lit0);
  if (opcode >= DW_OP_breg0 && opcode <= DW_OP_breg31)
    return register_value(opcode - DW_OP_breg0, in.svarint64(), columns, address);
  switch (opcode) {
    case DW_OP_const1u:
      return number(in.u8());
    case DW_OP_const1s:
      return number(static_cast<int8_t>(in.u8()));
    case DW_OP_const2u:
      return number(in.u16());
    case DW_OP_const2s:
      return number(static_cast<int16_t>(in.u16()));
    case DW_OP_const4u:
      return number(in.u32());
    case DW_OP_const4s:
      return number(static_cast<int32_t>(in.u32()));
    default:
      return std::nullopt;
  }
}

std::optional<FrameValue> apply_to_one(uint8_t opcode, Reader& in, const FrameValue& value) {
  if (opcode == DW_OP_plus_uconst)
    return moved(value, static_cast<int64_t>(in.uvarint64()));
  // Left is deref. A place on the stack can be loaded from, once: the rule has room for one
  // step.
  if (!value.anchor || value.is_loaded)
    return std::nullopt;
  return FrameValue{value.anchor, value.offset, /*is_loaded=*/true};
}

std::optional<FrameValue> apply_to_two(uint8_t opcode, const FrameValue& left,
                                       const FrameValue& right) {
  // A sum may have its anchor on either side, a difference on the left one, and `and`, shifts
  // and comparisons on none: they are of the linker's stubs, which take the low bits of pc.
  if (opcode == DW_OP_plus && !left.anchor)
    return moved(right, left.offset);
  if (right.anchor)
    return std::nullopt;
  if (opcode == DW_OP_plus)
    return moved(left, right.offset);
  if (opcode == DW_OP_minus)
    return moved(left, sum(~right.offset, 1));
  if (left.anchor)
    return std::nullopt;
  switch (opcode) {
    case DW_OP_and:
      return number(left.offset & right.offset);
    case DW_OP_shl:
      return number(right.offset < 0 || right.offset > 63 ? 0 : left.offset << right.offset);
    case DW_OP_ge:
      return number(left.offset >= right.offset);
    default:
      return std::nullopt;
  }
}

// The values that an operation takes off the stack. 0 also for those that are not known:
// read_operand() refuses them.
size_t operand_count(uint8_t opcode) {
  switch (opcode) {
    case DW_OP_deref:
    case DW_OP_plus_uconst:
      return 1;
    case DW_OP_and:
    case DW_OP_minus:
    case DW_OP_plus:
    case DW_OP_shl:
    case DW_OP_ge:
      return 2;
    default:
      return 0;
  }
}

}  // namespace

std::optional<FrameValue> evaluate(Reader expression, const FrameColumns& columns,
                                   ImageAddress address, std::optional<Anchor> start) {
  Reader& in = expression;
  std::vector<FrameValue> stack;
  if (start)
    // The expression of a saved register begins with the CFA, that of the CFA with nothing.
    stack.push_back({.anchor = start});
  while (in.remaining() > 0) {
    uint8_t opcode = in.u8();
    size_t count = operand_count(opcode);
    // Each operation takes at most two values and leaves one, so that the stack grows by one a
    // step at the most.
    if (stack.size() < count || stack.size() > kMaxValues)
      return std::nullopt;
    auto operands = std::span(stack).last(count);
    auto result = count == 0   ? read_operand(opcode, in, columns, address)
                  : count == 1 ? apply_to_one(opcode, in, operands[0])
                               : apply_to_two(opcode, operands[0], operands[1]);
    if (!result || !in.ok())
      return std::nullopt;
    stack.resize(stack.size() - count);
    stack.push_back(*result);
  }
  return stack.empty() ? std::nullopt : std::optional(stack.back());
}

namespace {

// Jumps may lead back.
constexpr size_t kMaxSteps = 10'000;

class Evaluation {
public:
  Evaluation(Reader in, MachineState& state) : begin_(in), in_(in), state_(state) {}

  // A failure, by an empty stack, a full one, or a value that is not known, is remembered: no
  // value moves any more, and run() notices it after the step.
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
  std::array<uint64_t, 64> values_{};  // compilers use a few; one more is a failure
  size_t depth_ = 0;
  bool is_sound_ = true;
};

// Values have 64 bits: the sign of a shorter number fills them.
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

// Memory is read in whole words; a narrower load takes the low bytes of one, which is right on
// little-endian machines.
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
      // Negated as an unsigned number: the least int64_t has no positive one.
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

// A distance counts from the byte behind its own two. Readers go only forward, so that a jump
// starts again from the beginning.
void Evaluation::jump(int16_t distance) {
  int64_t target = static_cast<int64_t>(in_.offset()) + distance;
  // The one that starts again has not failed: a distance that is cut short is remembered.
  is_sound_ &= in_.ok();
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

// Shifts by 64 and more are defined here, since the expression chooses the number: nothing is
// left of the word but, where it is arithmetic, the sign.
std::optional<uint64_t> shift(uint8_t opcode, uint64_t value, uint64_t bits) {
  if (opcode == DW_OP_shra)
    return static_cast<uint64_t>(static_cast<int64_t>(value) >> std::min<uint64_t>(bits, 63));
  if (bits > 63)
    return 0;
  return opcode == DW_OP_shl ? value << bits : value >> bits;
}

// None for what compares nothing.
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

// The result of an operation of two values. None for a division by 0, and for other operations.
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

// Called last, so that it meets what nobody knows, too: calculate() has no value for that, and
// push() ends the evaluation.
bool Evaluation::run_binary(uint8_t opcode) {
  // The top of the stack is the right operand (DWARF 5, 2.5.1.4).
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
