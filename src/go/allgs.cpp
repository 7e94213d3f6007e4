#include "go/allgs.h"

#include <array>
#include <optional>
#include <set>

namespace gosym::go {

namespace {

constexpr uint64_t kWord = 8;

std::set<uint64_t> words_of_amd64(Bytes code, uint64_t address) {
  constexpr uint64_t kSize = 7;
  std::set<uint64_t> words;
  for (uint64_t at = 0; at + kSize <= code.size(); at++) {
    uint8_t prefix = *load<uint8_t>(code, at);
    uint8_t opcode = *load<uint8_t>(code, at + 1);
    uint8_t operands = *load<uint8_t>(code, at + 2);
    bool is_move = (prefix & 0xf8) == 0x48 && (opcode == 0x8b || opcode == 0x89);
    if (is_move && (operands & 0xc7) == 0x05)
      words.insert(address + at + kSize +
                   static_cast<uint64_t>(static_cast<int32_t>(*load<uint32_t>(code, at + 3))));
  }
  return words;
}

uint64_t sign_extended(uint32_t value, int bits) {
  uint64_t sign = uint64_t{1} << (bits - 1);
  return (value ^ sign) - sign;
}

// A register that something else was written to keeps its value here: an address too many.
std::set<uint64_t> words_of_arm64(Bytes code, uint64_t address) {
  constexpr uint64_t kPageSize = 4096;
  std::set<uint64_t> words;
  std::array<std::optional<uint64_t>, 32> registers;
  for (uint64_t at = 0; at + 4 <= code.size(); at += 4) {
    uint32_t word = *load<uint32_t>(code, at);
    auto bits = [word](int low, int count) { return word >> low & ((1U << count) - 1); };
    std::optional<uint64_t> base = registers[bits(5, 5)];
    if ((word & 0x9f000000) == 0x90000000) {  // adrp
      uint64_t page = sign_extended(bits(5, 19) << 2 | bits(29, 2), 21) * kPageSize;
      registers[bits(0, 5)] = (address + at) / kPageSize * kPageSize + page;
    } else if ((word & 0xffc00000) == 0x91000000 && base) {  // add
      registers[bits(0, 5)] = *base + bits(10, 12);
    } else if ((word & 0xff800000) == 0xf9000000 && base) {  // str, ldr
      words.insert(*base + bits(10, 12) * kWord);
    } else if ((word & 0xff800000) == 0xa9000000 && base) {  // stp, ldp
      uint64_t first = *base + sign_extended(bits(15, 7), 7) * kWord;
      words.insert({first, first + kWord});
    }
  }
  return words;
}

}  // namespace

std::vector<ImageAddress> find_allgs(uint16_t machine, Bytes code, ImageAddress address) {
  std::set<uint64_t> words = machine == EM_X86_64    ? words_of_amd64(code, to_integer(address))
                             : machine == EM_AARCH64 ? words_of_arm64(code, to_integer(address))
                                                     : std::set<uint64_t>();
  std::vector<ImageAddress> found;
  for (uint64_t word : words)
    if (words.contains(word + kWord) && words.contains(word + 2 * kWord))
      found.push_back(ImageAddress{word});
  return found;
}

std::vector<ImageAddress> find_allgs(const Module& module) {
  const Pclntab& table = module.table;
  for (uint32_t i = 0; i < table.function_count(); i++) {
    auto function = table.function(i);
    if (!function || table.name(function->name_offset) != "runtime.allgadd")
      continue;
    auto address = module.address_of(function->entry);
    auto code = address ? module.image->loaded_from(*address) : std::nullopt;
    if (!code)
      return {};
    uint64_t size = std::min<uint64_t>(code->size(), function->end - function->entry);
    return find_allgs(module.image->machine, code->first(size), *address);
  }
  return {};
}

}  // namespace gosym::go
