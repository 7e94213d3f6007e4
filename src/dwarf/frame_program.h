#pragma once

#include "dwarf/frame_table.h"

namespace gosym::dwarf {

// The instructions of call frame information (DWARF 5, section 6.4.2). Those of the common
// entry make the first row; those of the function change it, as one goes through the code. Of a
// byte, bits 6 and 7 tell the instruction, the other bits are an operand; where both are 0, all
// of it is the instruction:
//
//   40 advance_loc (delta)       80 offset (column) uleb
//   00 nop                       c0 restore (column)
//   02 advance_loc1 u8           05 offset_extended uleb uleb
//   03 advance_loc2 u16          06 restore_extended uleb
//   04 advance_loc4 u32          07 undefined uleb
//   0a remember_state            08 same_value uleb
//   0b restore_state             09 register uleb uleb
//   0c def_cfa uleb uleb         10 expression uleb block
//   0d def_cfa_register uleb     11 offset_extended_sf uleb sleb
//   0e def_cfa_offset uleb       14 val_offset uleb uleb
//   0f def_cfa_expression block  15 val_offset_sf uleb sleb
//   12 def_cfa_sf uleb sleb      16 val_expression uleb block
//   13 def_cfa_offset_sf sleb    2d (64-bit ARM) return addresses are signed from here on
//   2e GNU_args_size uleb
//
// A block is a uleb size and an expression. Deltas count in units of the code alignment,
// offsets of columns and those of the _sf instructions in units of the data alignment. Not
// read, because no compiler writes them: 01 set_loc, and what is not listed.

// Where the value is that a register had in the caller.
struct ColumnRule {
  enum class Kind : uint8_t {
    kUnset,
    kUndefined,
    kSame,
    kOffset,      // it lies at CFA + value
    kValue,       // it is CFA + value
    kRegister,    // it is in register `value`
    kExpression,  // it lies where the expression says
    kValueExpression,
  };
  Kind kind{};
  int64_t value = 0;
  Bytes expression{};
};

struct FrameRow {
  uint64_t cfa_column = UINT64_MAX;  // CFA: the value of this register,
  int64_t cfa_offset = 0;            // and this added;
  Bytes cfa_expression;              // if not empty, the value of this instead
  ColumnRule return_address;
  ColumnRule stack_pointer;
  ColumnRule frame_pointer;
  ColumnRule wanted;  // of one more column
};

// The numbers by which a machine's ABI knows some of its registers.
struct FrameColumns {
  static constexpr uint64_t kNone = UINT64_MAX;
  uint64_t stack_pointer = kNone;
  uint64_t frame_pointer = kNone;
  uint64_t program_counter = kNone;
  uint64_t link = kNone;
};

// The row of an address that the entry holds. None if an instruction before it is malformed or
// not known.
std::optional<FrameRow> find_row(const FrameEntry& entry, const FrameColumns& columns,
                                 ByteOrder order, ImageAddress address,
                                 uint64_t wanted = FrameColumns::kNone);

}  // namespace gosym::dwarf
