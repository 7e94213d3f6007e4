#include "go/allgs.h"

#include "go/code_operands.h"

namespace gosym::go {

namespace {

constexpr uint64_t kWord = 8;

std::vector<ImageAddress> three_words(const CodeOperands& operands) {
  std::vector<ImageAddress> found;
  auto is_word = [&](uint64_t address) { return operands.contains({address, kWord}); };
  for (const CodeOperand& operand : operands)
    if (is_word(operand.address) && is_word(operand.address + kWord) &&
        is_word(operand.address + 2 * kWord) && operand.size == kWord)
      found.push_back(ImageAddress{operand.address});
  return found;
}

}  // namespace

std::vector<ImageAddress> find_allgs(uint16_t machine, Bytes code, ImageAddress address) {
  return three_words(code_operands(machine, code, address));
}

std::vector<ImageAddress> find_allgs(const Module& module) {
  return three_words(code_operands(module, {"runtime.allgadd"})["runtime.allgadd"]);
}

}  // namespace gosym::go
