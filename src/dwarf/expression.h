#pragma once

#include <optional>

#include "base/reader.h"
#include "model/unwind_rule.h"

namespace gosym::dwarf {

// What an expression of call frame information comes to (DWARF 5, sections 2.5 and 6.4.2):
//
//   03 addr word      06 deref          08 const1u   09 const1s   0a const2u   0b const2s
//   0c const4u        0d const4s        0e const8u   0f const8s   10 constu    11 consts
//   12 dup            13 drop           14 over      15 pick u8   16 swap      17 rot
//   19 abs            1a and            1b div       1c minus     1d mod       1e mul
//   1f neg            20 not            21 or        22 plus      23 plus_uconst uleb
//   24 shl            25 shr            26 shra      27 xor       28 bra i16
//   29 eq             2a ge             2b gt        2c le        2d lt        2e ne
//   2f skip i16       30 to 4f  the number 0 to 31   70 to 8f sleb  a register, and this added
//   92 bregx uleb sleb                  94 deref_size u8          96 nop
//
// Numbers have 64 bits and wrap around; div, shra and comparisons take them as signed. Others
// are not allowed there, or ask for what no stack tells.
//
// `start` is the value at the bottom of the stack, if there is one: for places of registers the
// CFA. None if the expression is malformed, asks for what is not known, or does not end within
// 10,000 steps: those of compilers take a dozen.
std::optional<uint64_t> evaluate(Reader expression, MachineState& state,
                                 std::optional<uint64_t> start);

}  // namespace gosym::dwarf
