#include "elf/x86_instruction.h"

// Prefixes, opcode, ModRM with SIB and displacement, and an immediate operand follow each
// other in this order, and each is there or not by what came before. The tables of the manuals
// (Intel SDM, volume 2, appendix A) are written here as ranges of opcodes: which of them have
// a ModRM, and which an immediate operand of what size.

namespace gosym::elf {

namespace {

using Map = X86Instruction::Map;

// Reads the bytes of one instruction.
class Decoder {
public:
  explicit Decoder(Bytes code) : code_(code.first(std::min<size_t>(code.size(), kMaxSize))) {}

  std::optional<X86Instruction> decode() {
    if (!read_prefixes() || !read_opcode() || !is_known())
      return std::nullopt;
    if (has_operands() && !read_operands())
      return std::nullopt;
    if (!read_immediate(immediate_size()))
      return std::nullopt;
    found_.size = at_;
    return found_;
  }

private:
  // A longer one is refused by the processor (SDM, volume 2, 2.3.11).
  static constexpr size_t kMaxSize = 15;

  std::optional<uint8_t> peek() const { return load<uint8_t>(code_, at_); }

  bool read_prefixes() {
    while (auto byte = peek()) {
      // Segments, operand and address size, lock and rep, in any order and number; a REX prefix
      // comes right before the opcode.
      bool is_legacy = (*byte & 0xe7) == 0x26 || (*byte >= 0x64 && *byte <= 0x67) ||
                       *byte == 0xf0 || *byte == 0xf2 || *byte == 0xf3;
      if (!is_legacy)
        break;
      found_.has_small_size |= *byte == 0x66;
      has_small_addresses_ |= *byte == 0x67;
      at_++;
    }
    auto byte = peek();
    if (byte && (*byte & 0xf0) == 0x40) {
      found_.rex = *byte;
      at_++;
    }
    return peek().has_value();
  }

  bool read_opcode() {
    // There is a byte: read_prefixes() has looked.
    uint8_t first = *peek();
    // In 64-bit code these have no other meaning: VEX and EVEX.
    if (found_.rex == 0 && (first == 0xc4 || first == 0xc5 || first == 0x62))
      return read_vector_opcode(first);
    at_++;
    found_.opcode = first;
    if (first != 0x0f)
      return true;
    found_.map = Map::k0f;
    if (!take_opcode())
      return false;
    if (found_.opcode != 0x38 && found_.opcode != 0x3a)
      return true;
    found_.map = found_.opcode == 0x38 ? Map::k0f38 : Map::k0f3a;
    return take_opcode();
  }

  // VEX of two or three bytes, or EVEX, of four. The low bits of the second byte tell the table
  // of opcodes, unless there are but two.
  bool read_vector_opcode(uint8_t first) {
    found_.is_vector = true;
    // EVEX has the table in three bits, VEX in five.
    uint8_t table = load<uint8_t>(code_, at_ + 1).value_or(0) & (first == 0x62 ? 7 : 31);
    if (first == 0xc5)
      table = 1;
    // Prefix bytes before the opcode.
    at_ += first == 0xc5 ? 2 : first == 0xc4 ? 3 : 4;
    // Tables 5 and 6 are of half-precision numbers, as 1 and 2.
    if (table == 1 || table == 5)
      found_.map = Map::k0f;
    else if (table == 2 || table == 6)
      found_.map = Map::k0f38;
    else if (table == 3)
      found_.map = Map::k0f3a;
    else
      return false;
    return take_opcode();
  }

  bool take_opcode() {
    auto byte = peek();
    found_.opcode = byte.value_or(0);
    at_++;
    return byte.has_value();
  }

  bool in(uint8_t first, uint8_t last) const {
    return found_.opcode >= first && found_.opcode <= last;
  }

  // False for opcodes that 64-bit code does not have: no answer is better than a wrong length,
  // which would put all that follows out of step.
  bool is_known() const {
    if (found_.map == Map::k0f)
      return !in(0x04, 0x04) && !in(0x0a, 0x0a) && !in(0x0c, 0x0c) && !in(0x0e, 0x0f) &&
             !in(0x24, 0x27) && !in(0x36, 0x37) && !in(0x39, 0x3f);
    if (found_.map != Map::kOneByte)
      return true;
    // Pushes and pops of segments and decimal adjustments.
    bool is_old = in(0, 0x3f) && (found_.opcode & 7) >= 6;
    // Behind a REX prefix none comes: the processor would forget the first one.
    bool is_prefix = in(0x40, 0x4f) || in(0x64, 0x67) || in(0xf0, 0xf0) || in(0xf2, 0xf3);
    return !is_old && !is_prefix && !in(0x60, 0x62) && !in(0x82, 0x82) && !in(0x9a, 0x9a) &&
           !in(0xc4, 0xc5) && !in(0xce, 0xce) && !in(0xd4, 0xd6) && !in(0xea, 0xea);
  }

  // True if a byte ModRM follows the opcode.
  bool has_operands() const {
    switch (found_.map) {
      case Map::kOneByte:
        return (in(0, 0x3f) && (found_.opcode & 7) < 4) || in(0x63, 0x63) || in(0x69, 0x69) ||
               in(0x6b, 0x6b) || in(0x80, 0x8f) || in(0xc0, 0xc1) || in(0xc6, 0xc7) ||
               in(0xd0, 0xd3) || in(0xd8, 0xdf) || in(0xf6, 0xf7) || in(0xfe, 0xff);
      case Map::k0f:
        // All but these: syscall to ud2, rdmsr and the like, emms, jumps, push and pop of fs
        // and gs, cpuid, rsm, bswap.
        return !in(0x05, 0x0b) && !in(0x30, 0x37) && !in(0x77, 0x77) &&
               (found_.is_vector || !in(0x80, 0x8f)) && !in(0xa0, 0xa2) && !in(0xa8, 0xaa) &&
               !in(0xc8, 0xcf);
      default:
        return true;
    }
  }

  bool read_operands() {
    found_.operands = peek();
    at_++;
    if (!found_.operands)
      return false;
    uint8_t mode = found_.mode();
    uint8_t base = *found_.operands & 7;
    // Both operands are registers: neither SIB nor displacement follows.
    if (mode == 3)
      return true;
    // 4 stands for a scale byte; 5 without displacement, or in that byte, for 32 bits of one.
    if (base == 4) {
      found_.scale = peek();
      at_++;
      if (!found_.scale)
        return false;
      base = *found_.scale & 7;
    }
    if (mode == 1)
      return read_displacement(1);
    // A base of 5 in mode 0 is the address of the next instruction and 32 bits, or, in SIB, no
    // base but 32 bits.
    return mode == 2 || base == 5 ? read_displacement(4) : true;
  }

  bool read_displacement(size_t size) {
    auto number = read_number(size);
    found_.displacement = static_cast<int32_t>(number.value_or(0));
    return number.has_value();
  }

  bool read_immediate(size_t size) {
    auto number = read_number(size);
    found_.immediate = number.value_or(0);
    return number.has_value();
  }

  // A number of so many bytes, sign-extended; 0 if it has none. None if the code ends before.
  std::optional<int64_t> read_number(size_t size) {
    auto bytes = slice(code_, at_, size);
    if (!bytes)
      return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
      value |= uint64_t{load<uint8_t>(*bytes, i).value_or(0)} << 8 * i;
    at_ += size;
    // Shifts by 64 are undefined, and 8 bytes need none.
    if (size == 0 || size > 8)
      return static_cast<int64_t>(value);
    size_t unused = 64 - 8 * size;
    return static_cast<int64_t>(value << unused) >> unused;
  }

  size_t immediate_size() const {
    switch (found_.map) {
      case Map::kOneByte:
        return immediate_of_one_byte();
      case Map::k0f:
        if (in(0x80, 0x8f) && !found_.is_vector)
          return 4;
        // These have one byte, as many as true is: pshuf and shifts, shld, shrd, bt and the
        // like, cmp, pinsrw to shufp.
        return in(0x70, 0x73) || in(0xa4, 0xa4) || in(0xac, 0xac) || in(0xba, 0xba) ||
               in(0xc2, 0xc2) || in(0xc4, 0xc6);
      case Map::k0f38:
        return 0;
      default:
        return 1;
    }
  }

  size_t immediate_of_one_byte() const {
    size_t size = found_.has_small_size ? 2 : 4;
    // f6 and f7 are several instructions by the middle field of ModRM, of which TEST alone has
    // an immediate operand.
    bool has_number = found_.extension() < 2;
    if (in(0, 0x3f) && (found_.opcode & 7) >= 4)
      return (found_.opcode & 7) == 4 ? 1 : size;
    if (in(0x68, 0x69) || in(0x81, 0x81) || in(0xa9, 0xa9) || in(0xc7, 0xc7) ||
        (in(0xf7, 0xf7) && has_number))
      return size;
    // mov between the accumulator and an address that the instruction holds as a whole.
    if (in(0xa0, 0xa3))
      return has_small_addresses_ ? 4 : 8;
    // mov of 64 bits to a register is the one instruction with a number of eight bytes.
    if (in(0xb8, 0xbf))
      return (found_.rex & 8) != 0 ? 8 : size;
    // Calls and jumps: the prefix 66 does not change them on Intel's processors, and compilers
    // write none there.
    if (in(0xe8, 0xe9))
      return 4;
    // ret and lret that take arguments off the stack.
    if (in(0xc2, 0xc2) || in(0xca, 0xca))
      return 2;
    // enter: two bytes of size and one of nesting.
    if (in(0xc8, 0xc8))
      return 3;
    bool has_byte = in(0x6a, 0x6b) || in(0x70, 0x80) || in(0x83, 0x83) || in(0xa8, 0xa8) ||
                    in(0xb0, 0xb7) || in(0xc0, 0xc1) || in(0xc6, 0xc6) || in(0xcd, 0xcd) ||
                    in(0xe0, 0xe7) || in(0xeb, 0xeb) || (in(0xf6, 0xf6) && has_number);
    return has_byte ? 1 : 0;
  }

  Bytes code_;
  size_t at_ = 0;
  bool has_small_addresses_ = false;
  X86Instruction found_;
};

}  // namespace

std::optional<X86Instruction> decode_x86(Bytes code) {
  return Decoder(code).decode();
}

}  // namespace gosym::elf
