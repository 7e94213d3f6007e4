#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "model/address.h"

namespace gosym::code {

struct Llvm;

enum class Syntax : uint8_t { kAtt, kIntel };  // for x86-64; other machines have one

struct Instruction {
  uint64_t size = 0;      // in bytes, at least 1 and never more than there are
  std::string text = {};  // "callq 0x48a2e0"; empty: the bytes are no instruction
  std::optional<ImageAddress> target =
      {};                                 // that it jumps to or calls, where it says so itself
  std::optional<ImageAddress> data = {};  // that it reads or writes, told from its own place
};

// Turns machine code of x86-64 and arm64 into text, by LLVM (code/llvm.h). Where the
// library is not inside the program it is loaded when the first disassembler is made, and does
// not have to be installed: loading takes 15 ms, which is more than most commands take in all.
class Disassembler {
public:
  // `machine` is EM_*. Fails for another machine, and if there is no library.
  static Result<Disassembler> open(uint16_t machine, Syntax syntax = Syntax::kAtt);

  // The first instruction of `code`, which lies at `address` and is not empty.
  Instruction decode(Bytes code, ImageAddress address);

private:
  // Addresses that the library found in the instruction.
  struct References {
    std::optional<ImageAddress> target;
    std::optional<ImageAddress> data;
  };

  using Context = std::unique_ptr<void, void (*)(void*)>;
  Disassembler(const Llvm& llvm, uint64_t step, std::unique_ptr<References> references,
               Context context)
      : llvm_(&llvm),
        step_(step),
        references_(std::move(references)),
        context_(std::move(context)) {}
  Instruction decode_part(Bytes code, ImageAddress address);
  static const char* tell(void* references, uint64_t value, uint64_t* type, uint64_t pc,
                          const char** name) noexcept;

  const Llvm* llvm_;
  uint64_t step_;  // the least size of an instruction
  std::unique_ptr<References> references_;
  Context context_;
};

}  // namespace gosym::code
