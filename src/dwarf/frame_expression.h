#pragma once

#include <optional>

#include "base/reader.h"
#include "dwarf/frame_program.h"
#include "model/unwind_rule.h"

namespace gosym::dwarf {

// What an expression of call frame information comes to: a number; an anchor and a number of
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

}  // namespace gosym::dwarf
