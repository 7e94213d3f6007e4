#pragma once

#include <optional>

#include "base/reader.h"
#include "dwarf/frame_table.h"
#include "model/unwind_rule.h"

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

// The place of the value that a register had in the caller.
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
  ColumnRule wanted;  // of one more column, or again of one of these
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
// not known. `wanted` is the number of one more register whose rule the row shall have; kNone:
// no other.
std::optional<FrameRow> find_row(const FrameEntry& entry, const FrameColumns& columns,
                                 ByteOrder order, ImageAddress address,
                                 uint64_t wanted = FrameColumns::kNone);

// The value of an expression of call frame information: a number; an anchor and a number of
// bytes; or the word that lies there.
struct FrameValue {
  std::optional<Anchor> anchor{};
  int64_t offset = 0;
  bool is_loaded = false;
};

// Evaluates an expression (DWARF 5, section 2.5) as far as its registers need not be known, but
// that of the program counter, which is `address`. That goes for what compilers and linkers
// write, which is little:
//
//   06 deref        08 const1u u8   09 const1s s8    0a const2u u16  0b const2s s16
//   0c const4u u32  0d const4s s32  1a and           1c minus        22 plus
//   23 plus_uconst uleb             24 shl           2a ge
//   30 to 4f  the number 0 to 31    70 to 8f sleb    the register 0 to 31, and this added
//
// `start` is the value at the bottom of the stack, if there is one: for places of registers the
// CFA. None for other expressions.
std::optional<FrameValue> evaluate(Reader expression, const FrameColumns& columns,
                                   ImageAddress address, std::optional<Anchor> start);

// Expressions of call frame information (DWARF 5, sections 2.5 and 6.4.2):
//
//   03 addr u64       06 deref          08 const1u   09 const1s   0a const2u   0b const2s
//   0c const4u        0d const4s        0e const8u   0f const8s   10 constu    11 consts
//   12 dup            13 drop           14 over      15 pick u8   16 swap      17 rot
//   19 abs            1a and            1b div       1c minus     1d mod       1e mul
//   1f neg            20 not            21 or        22 plus      23 plus_uconst uleb
//   24 shl            25 shr            26 shra      27 xor       28 bra i16
//   29 eq             2a ge             2b gt        2c le        2d lt        2e ne
//   2f skip i16       30 to 4f  the number 0 to 31   70 to 8f sleb  a register, and this added
//   92 bregx uleb sleb                  94 deref_size u8          96 nop
//
// Numbers have 64 bits and wrap around; div, shra and comparisons take them as signed. So have
// addresses and words, as the stacks of i386 are not recorded. Other operations are not allowed
// there, or ask for what no stack tells.
//
// `start` is the value at the bottom of the stack, if there is one: for places of registers the
// CFA. None if the expression is malformed, asks for what is not known, or does not end within
// 10,000 steps: those of compilers take a dozen.
std::optional<uint64_t> evaluate(Reader expression, MachineState& state,
                                 std::optional<uint64_t> start);

}  // namespace gosym::dwarf
