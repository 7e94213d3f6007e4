#include "go/code_operands.h"

#include <array>
#include <optional>

#include "elf/x86_instruction.h"

namespace gosym::go {

namespace {

constexpr uint8_t kRexWide = 8;

// Bytes of the integer that an instruction moves or compares; else 0.
uint8_t integer_size(const elf::X86Instruction& instruction) {
  // Opcodes of mov (89, 8b) and of cmp (39, 3b, 81, 83) between memory and a register or a
  // number. The last two are also add, or and the like, of an integer of the same size.
  bool is_integer = instruction.is(0x89) || instruction.is(0x8b) || instruction.is(0x39) ||
                    instruction.is(0x3b) || instruction.is(0x81) || instruction.is(0x83);
  if (!is_integer || instruction.has_small_size)
    // The prefix 66 makes them 16 bits wide, which no variable is that is looked for.
    return 0;
  return (instruction.rex & kRexWide) != 0 ? 8 : 4;
}

CodeOperands operands_of_amd64(Bytes code, uint64_t address) {
  CodeOperands operands;
  for (uint64_t at = 0; at < code.size();) {
    auto instruction = elf::decode_x86(tail(code, at));
    // Bytes that cannot be decoded are passed over one by one: the decoder is in step again
    // within a few instructions.
    if (!instruction || instruction->size == 0) {
      at++;
      continue;
    }
    at += instruction->size;
    // Mode 0 with base 5: an address by its distance from the next instruction.
    bool is_near = instruction->operands && (*instruction->operands & 0xc7) == 0x05;
    if (is_near)
      operands.insert({address + at + static_cast<uint64_t>(int64_t{instruction->displacement}),
                       integer_size(*instruction)});
  }
  return operands;
}

// The upper bits of a field with a sign take the value of its highest bit.
uint64_t sign_extended(uint32_t value, int bits) {
  uint64_t sign = uint64_t{1} << (bits - 1);
  return (value ^ sign) - sign;
}

// A register that something else was written to keeps its value here: an address too many. It
// seldom matters, for a variable is known by several functions that name it, or by three words
// in a row, and two candidates are none.
CodeOperands operands_of_arm64(Bytes code, uint64_t address) {
  constexpr uint64_t kPageSize = 4096;
  CodeOperands operands;
  std::array<std::optional<uint64_t>, 32> registers;
  for (uint64_t at = 0; at + 4 <= code.size(); at += 4) {
    uint32_t word = *load<uint32_t>(code, at);
    auto bits = [word](int low, int count) { return word >> low & ((1U << count) - 1); };
    std::optional<uint64_t> base = registers[bits(5, 5)];
    // adrp gives the page, each of the others the place within it.
    if ((word & 0x9f000000) == 0x90000000) {  // adrp
      uint64_t page = sign_extended(bits(5, 19) << 2 | bits(29, 2), 21) * kPageSize;
      registers[bits(0, 5)] = (address + at) / kPageSize * kPageSize + page;
    } else if ((word & 0xffc00000) == 0x91000000 && base) {  // add
      registers[bits(0, 5)] = *base + bits(10, 12);
      operands.insert({*base + bits(10, 12), 0});
    } else if ((word & 0xff800000) == 0xf9000000 && base) {  // str, ldr
      operands.insert({*base + bits(10, 12) * uint64_t{8}, 8});
    } else if ((word & 0xff800000) == 0xb9000000 && base) {  // likewise of 32 bits
      operands.insert({*base + bits(10, 12) * uint64_t{4}, 4});
    } else if ((word & 0xff800000) == 0xa9000000 && base) {  // stp, ldp
      uint64_t first = *base + sign_extended(bits(15, 7), 7) * 8;
      operands.insert({{first, 8}, {first + 8, 8}});
    } else if ((word & 0xbffffc00) == 0x88dffc00 && base) {  // ldar
      operands.insert({*base, static_cast<uint8_t>(bits(30, 1) != 0 ? 8 : 4)});
    }
  }
  return operands;
}

}  // namespace

CodeOperands code_operands(uint16_t machine, Bytes code, ImageAddress address) {
  switch (machine) {
    case EM_X86_64:
      return operands_of_amd64(code, to_integer(address));
    case EM_AARCH64:
      return operands_of_arm64(code, to_integer(address));
    default:
      return {};
  }
}

std::map<std::string_view, CodeOperands> code_operands(
    const Module& module, const std::set<std::string_view>& functions) {
  const Pclntab& table = module.table;
  std::map<std::string_view, CodeOperands> operands;
  // The walk ends once each name was met: programs have tens of thousands of functions.
  for (uint32_t i = 0; i < table.function_count() && operands.size() < functions.size(); i++) {
    auto function = table.function(i);
    std::string_view name = function ? table.name(function->name_offset) : std::string_view();
    if (!functions.contains(name))
      continue;
    CodeOperands& of_function = operands[name];
    auto address = module.address_of(function->entry);
    auto code = address ? module.image->loaded_from(*address) : std::nullopt;
    if (!code)
      continue;
    // The padding behind the function is part of this, and decodes to nothing that names
    // memory.
    uint64_t size = std::min<uint64_t>(code->size(), function->end - function->entry);
    of_function.merge(code_operands(module.image->machine, code->first(size), *address));
  }
  return operands;
}

}  // namespace gosym::go
