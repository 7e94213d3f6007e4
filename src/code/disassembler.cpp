#include "code/disassembler.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <vector>

#include "base/exit_status.h"
#include "base/text.h"

namespace gosym::code {

namespace {

// LLVM's C interface as <llvm-c/Disassembler.h> declares it, the same in all its releases.
using Lookup = const char* (*)(void* info, uint64_t value, uint64_t* type, uint64_t pc,
                               const char** name);
struct Library {
  void* (*create)(const char* triple, const char* cpu, const char* features, void* info,
                  int tag, void* operand_info, Lookup lookup);
  int (*set_options)(void* context, uint64_t options);
  size_t (*disassemble)(void* context, uint8_t* bytes, uint64_t size, uint64_t pc, char* text,
                        size_t text_size);
  void (*dispose)(void* context);
};
constexpr uint64_t kPrintImmediatesAsHex = 2;
constexpr uint64_t kIntelVariant = 4;
constexpr uint64_t kBranch = 1;  // what a reference comes from
constexpr uint64_t kNearLoad = 2;

struct Machine {
  uint16_t elf_machine;
  const char* llvm_name;  // in the names of its functions
  const char* triple;
  // What is decoded besides the machine's oldest instructions. Of x86-64 that is everything.
  const char* features;
  const char* features_of_14;
  uint64_t step;
};
constexpr Machine kMachines[] = {
    {EM_X86_64, "X86", "x86_64-linux-gnu", "", "", 1},
    {EM_AARCH64, "AArch64", "aarch64-linux-gnu", "+all",
     "+v8.7a,+crypto,+sve2,+fullfp16,+bf16,+i8mm,+mte,+sha3,+sm4,+rand,+tme", 4},
};

struct LoadedLibrary {
  void* handle = nullptr;
  uint32_t version = 0;
};

// The newest, which knows the most instructions.
LoadedLibrary load_newest() {
  constexpr uint32_t kOldest = 14;
  constexpr uint32_t kNewest = 30;
  for (uint32_t version = kNewest; version >= kOldest; version--)
    for (const std::string& name :
         {fmt::format("libLLVM.so.{}.1", version), fmt::format("libLLVM-{}.so.1", version),
          fmt::format("libLLVM-{}.so", version)})
      if (void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL))
        return {handle, version};
  return {};
}

template <class Function>
bool load_function(void* handle, const std::string& name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name.c_str()));
  return function != nullptr;
}

bool load_functions(void* handle, Library& library) {
  return load_function(handle, "LLVMCreateDisasmCPUFeatures", library.create) &&
         load_function(handle, "LLVMSetDisasmOptions", library.set_options) &&
         load_function(handle, "LLVMDisasmInstruction", library.disassemble) &&
         load_function(handle, "LLVMDisasmDispose", library.dispose);
}

bool start_machine(void* handle, const Machine& machine) {
  for (const char* part : {"TargetInfo", "TargetMC", "Disassembler"}) {
    void (*start)() = nullptr;
    if (!load_function(handle, fmt::format("LLVMInitialize{}{}", machine.llvm_name, part),
                       start))
      return false;
    start();
  }
  return true;
}

LoadedLibrary loaded;
Library library;

Error no_library() {
  return Error("there is no library of LLVM 14 or newer to disassemble with")
      .with_hint("on Debian and Ubuntu: apt-get install libllvm14")
      .with_exit_status(kUnsupported);
}

constexpr size_t kLongest = 16;  // bytes; of x86-64: 15

// LLVM has some prefixes of x86-64 as instructions of their own. Nobody else has.
bool is_prefix(std::string_view text) {
  constexpr std::string_view kPrefixes[] = {
      "lock",  "rep", "repne", "xacquire", "xrelease", "data16", "notrack",
      "rex64", "cs",  "ds",    "es",       "fs",       "gs",     "ss"};
  return std::ranges::find(kPrefixes, text) != std::end(kPrefixes);
}

// "movq\t%rdi, %rbx": one space where the library has a tab, and none around.
std::string tidied(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("\t "), text.size()));
  std::string result(text.substr(0, text.find_last_not_of("\t ") + 1));
  std::ranges::replace(result, '\t', ' ');
  return result;
}

}  // namespace

const char* Disassembler::tell(void* references, uint64_t value, uint64_t* type,
                               uint64_t /*pc*/, const char** name) noexcept {
  auto& told = *static_cast<References*>(references);
  if (*type == kBranch)
    told.target = ImageAddress{value};
  else if (*type == kNearLoad)
    told.data = ImageAddress{value};
  *type = 0;
  *name = nullptr;
  return nullptr;
}

Result<Disassembler> Disassembler::open(uint16_t machine, Syntax syntax) {
  const auto* found = std::ranges::find(kMachines, machine, &Machine::elf_machine);
  if (found == std::end(kMachines))
    return Error("only code of x86-64 and arm64 is disassembled")
        .with_exit_status(kUnsupported);
  if (!loaded.handle)
    loaded = load_newest();
  if (!loaded.handle || !load_functions(loaded.handle, library) ||
      !start_machine(loaded.handle, *found))
    return no_library();
  auto references = std::make_unique<References>();
  const char* features = loaded.version == 14 ? found->features_of_14 : found->features;
  Context context(library.create(found->triple, "", features, references.get(), 0, nullptr,
                                 &Disassembler::tell),
                  library.dispose);
  if (!context)
    return no_library();
  library.set_options(context.get(), kPrintImmediatesAsHex);
  // The option is said once more, as it is lost with the other printer.
  if (syntax == Syntax::kIntel && machine == EM_X86_64)
    library.set_options(context.get(), kIntelVariant | kPrintImmediatesAsHex);
  return Disassembler(found->step, std::move(references), std::move(context));
}

Instruction Disassembler::decode(Bytes code, ImageAddress address) {
  code = code.first(std::min(code.size(), kLongest));
  Instruction instruction = decode_part(code, address);
  std::string prefixes;
  uint64_t size = 0;  // of these
  while (is_prefix(instruction.text)) {
    prefixes += instruction.text + " ";
    size += instruction.size;
    if (size == code.size())
      break;
    instruction = decode_part(code.subspan(size), ImageAddress{to_integer(address) + size});
  }
  if (size == 0)
    return instruction;
  // A prefix of nothing stands for itself.
  if (instruction.text.empty() || size == code.size())
    return {.size = 1, .text = prefixes.substr(0, prefixes.find(' '))};
  instruction.size += size;
  instruction.text.insert(0, prefixes);
  return instruction;
}

Instruction Disassembler::decode_part(Bytes code, ImageAddress address) {
  uint8_t bytes[kLongest];
  std::memcpy(bytes, code.data(), code.size());
  *references_ = {};
  char text[512];
  size_t used = library.disassemble(context_.get(), bytes, code.size(), to_integer(address),
                                    text, sizeof(text));
  if (used == 0 || used > code.size())
    return {.size = std::min<uint64_t>(step_, code.size())};
  return {.size = used,
          .text = tidied(text),
          .target = references_->target,
          .data = references_->data};
}

}  // namespace gosym::code
