#pragma once

#include <optional>

#include "base/bytes.h"

namespace gosym::elf {

// An instruction of x86-64, as far as its length, where it goes to and what it does to the
// stack pointer and the frame pointer have to be known. For text there is code/disassembler.h,
// which needs a library.
struct X86Instruction {
  // The tables of opcodes: of one byte, behind 0f, behind 0f 38 and behind 0f 3a.
  enum class Map : uint8_t { kOneByte, k0f, k0f38, k0f3a };

  Map map{};
  uint8_t opcode = 0;
  uint8_t rex = 0;              // the prefix, with its upper four bits; 0: none
  bool has_small_size = false;  // the prefix 66
  bool is_vector = false;       // with the prefix VEX or EVEX: no register of these is written
  std::optional<uint8_t> operands{};  // the byte ModRM
  std::optional<uint8_t> scale{};     // the byte SIB
  int32_t displacement = 0;           // offset of an operand in memory
  int64_t immediate = 0;              // sign-extended; of a jump or call how far it goes
  uint64_t size = 0;                  // in bytes

  bool has(Map table, uint8_t first, uint8_t last) const {
    return map == table && opcode >= first && opcode <= last;
  }
  bool is(uint8_t one_byte) const { return has(Map::kOneByte, one_byte, one_byte); }
  // Fields of ModRM, 0 without it.
  uint8_t mode() const { return operands.value_or(0) >> 6; }
  uint8_t extension() const { return operands.value_or(0) >> 3 & 7; }
  // Registers, by their numbers in instructions: 4 is rsp, 5 is rbp.
  uint8_t reg() const { return static_cast<uint8_t>(extension() | (rex & 4) << 1); }
  uint8_t rm() const {
    return static_cast<uint8_t>((operands.value_or(0) & 7) | (rex & 1) << 3);
  }
};

// The instruction that the code begins with; none if it is none, is cut off, or is not known.
std::optional<X86Instruction> decode_x86(Bytes code);

}  // namespace gosym::elf
