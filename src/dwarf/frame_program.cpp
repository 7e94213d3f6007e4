#include "dwarf/frame_program.h"

#include <dwarf.h>

namespace gosym::dwarf {

namespace {

using Kind = ColumnRule::Kind;

// The longest of the 95,000 functions of LLVM takes 2.4 KB. An address is never answered in
// more than a millisecond.
constexpr size_t kMaxInstructions = 64 << 10;
// Compilers remember one row before each epilogue, and nest none.
constexpr size_t kMaxRemembered = 64;

class Program {
public:
  Program(const FrameEntry& entry, const FrameColumns& columns, uint64_t wanted,
          ByteOrder order)
      : entry_(entry), columns_(columns), wanted_(wanted), order_(order) {}

  std::optional<FrameRow> row_at(uint64_t address) {
    if (!run(entry_.setup.instructions, address))
      return std::nullopt;
    initial_ = row_;
    if (!run(entry_.instructions, address))
      return std::nullopt;
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
  location_ = entry_.begin;
  while (in.remaining() > 0 && location_ <= address)
    if (!run_one(in) || !in.ok())
      return false;
  return true;
}

bool Program::run_one(Reader& in) {
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
    case DW_CFA_GNU_window_save:  // 2d
      return true;
    case DW_CFA_GNU_args_size:
      in.uvarint64();
      return true;
    case DW_CFA_remember_state:
      remembered_.push_back(row_);
      return remembered_.size() <= kMaxRemembered;
    case DW_CFA_restore_state:
      if (remembered_.empty())
        return false;
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
    case DW_CFA_def_cfa_expression:
      row_.cfa_expression = block(in);
      return true;
    default:
      return false;
  }
}

// Null for the columns that do not matter.
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
  if (const ColumnRule* rule = rule_in(initial_, column))
    set_rule(column, *rule);
}

bool Program::run_column(uint8_t opcode, Reader& in) {
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

}  // namespace gosym::dwarf
