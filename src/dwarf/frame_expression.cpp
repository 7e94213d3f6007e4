#include "dwarf/frame_expression.h"

#include <dwarf.h>

namespace gosym::dwarf {

namespace {

// The expression of a stub of the linker takes four.
constexpr size_t kMaxValues = 16;

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

// What pushes a value.
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
  if (!value.anchor || value.is_loaded)
    return std::nullopt;
  return FrameValue{value.anchor, value.offset, /*is_loaded=*/true};
}

std::optional<FrameValue> apply_to_two(uint8_t opcode, const FrameValue& left,
                                       const FrameValue& right) {
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
    stack.push_back({.anchor = start});
  while (in.remaining() > 0) {
    uint8_t opcode = in.u8();
    size_t count = operand_count(opcode);
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

}  // namespace gosym::dwarf
