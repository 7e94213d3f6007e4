#include <elf.h>
#include <llvm-c/Disassembler.h>
#include <llvm/Config/llvm-config.h>

#include "code/llvm.h"

// <llvm-c/Target.h> declares these for all machines that Debian's LLVM has.
extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86Disassembler();
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64Disassembler();
}

namespace gosym::code {

namespace {

// No operand is looked up, so its callback, which has more parameters in newer releases, is
// null.
void* create(const char* triple, const char* cpu, const char* features, void* info, int tag,
             void* /*operand_info*/, LookUpSymbol look_up) {
  return LLVMCreateDisasmCPUFeatures(triple, cpu, features, info, tag, nullptr, look_up);
}

}  // namespace

const Llvm* find_llvm(uint16_t machine) {
  static constexpr Llvm kLlvm = {.version = LLVM_VERSION_MAJOR,
                                 .is_inside = true,
                                 .create = create,
                                 .set_options = LLVMSetDisasmOptions,
                                 .disassemble = LLVMDisasmInstruction,
                                 .dispose = LLVMDisasmDispose};
  // LLVM registers a machine once, however often it is asked. Disassembler::open() asks for
  // these two alone.
  if (machine == EM_X86_64) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
  } else {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64Disassembler();
  }
  return &kLlvm;
}

}  // namespace gosym::code
