#pragma once

#include <cstddef>
#include <cstdint>

// LLVM's disassembler, by its C interface as <llvm-c/Disassembler.h> declares it, the same in
// all releases. A program that is linked statically has it inside (llvm_inside.cpp); another
// one loads the newest library that is installed (llvm_installed.cpp).

namespace gosym::code {

using LookUpSymbol = const char* (*)(void* info, uint64_t value, uint64_t* type, uint64_t pc,
                                     const char** name);

struct Llvm {
  uint32_t version = 0;    // 14 for LLVM 14.0.6
  bool is_inside = false;  // linked statically, not loaded
  void* (*create)(const char* triple, const char* cpu, const char* features, void* info,
                  int tag, void* operand_info, LookUpSymbol look_up) = nullptr;
  int (*set_options)(void* context, uint64_t options) = nullptr;
  size_t (*disassemble)(void* context, uint8_t* bytes, uint64_t size, uint64_t pc, char* text,
                        size_t text_size) = nullptr;
  void (*dispose)(void* context) = nullptr;
};

// With the disassembler of `machine` ready: EM_X86_64 or EM_AARCH64. It is valid for good. Null
// where there is no library of LLVM 14 or newer, or none for the machine.
const Llvm* find_llvm(uint16_t machine);

}  // namespace gosym::code
