#include <elf.h>
#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/shared_library.h"
#include "code/llvm.h"

namespace gosym::code {

namespace {

struct InstalledLlvm {
  SharedLibrary library;
  uint32_t version;
};

// The newest knows the most instructions. Loading takes 15 ms, so it is done once.
std::optional<InstalledLlvm> load_newest() {
  constexpr uint32_t kOldest = 14;
  constexpr uint32_t kNewest = 30;  // none is as new: a name that is not there costs little
  // Names that distributions give the library: upstream since LLVM 18, Debian and others
  // before that.
  for (uint32_t version = kNewest; version >= kOldest; version--)
    for (const std::string& name :
         {fmt::format("libLLVM.so.{}.1", version), fmt::format("libLLVM-{}.so.1", version),
          fmt::format("libLLVM-{}.so", version)})
      if (SharedLibrary library(name); library)
        return InstalledLlvm{std::move(library), version};
  return std::nullopt;
}

bool find_functions(const SharedLibrary& library, Llvm& llvm) {
  return library.find("LLVMCreateDisasmCPUFeatures", llvm.create) &&
         library.find("LLVMSetDisasmOptions", llvm.set_options) &&
         library.find("LLVMDisasmInstruction", llvm.disassemble) &&
         library.find("LLVMDisasmDispose", llvm.dispose);
}

// LLVM registers a machine once, however often it is asked.
bool start_machine(const SharedLibrary& library, const char* machine) {
  for (const char* part : {"TargetInfo", "TargetMC", "Disassembler"}) {
    void (*start)() = nullptr;
    if (!library.find(fmt::format("LLVMInitialize{}{}", machine, part), start))
      return false;
    start();
  }
  return true;
}

}  // namespace

const Llvm* find_llvm(uint16_t machine) {
  // Functions are found by name, so that no header of LLVM is needed and any of these releases
  // will do.
  static const std::optional<InstalledLlvm> installed = load_newest();
  static Llvm llvm{.version = installed ? installed->version : 0};
  bool is_usable = installed && find_functions(installed->library, llvm) &&
                   start_machine(installed->library, machine == EM_X86_64 ? "X86" : "AArch64");
  return is_usable ? &llvm : nullptr;
}

}  // namespace gosym::code
