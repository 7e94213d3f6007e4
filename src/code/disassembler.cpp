#include "code/disassembler.h"

#include <elf.h>

#include <algorithm>
#include <vector>

#include "base/exit_status.h"
#include "base/text.h"
#include "code/llvm.h"

// LLVM gives an instruction as text, and calls tell() for each address that it finds in it,
// with the References that create() was given. One disassembler decodes code of one machine;
// decode() puts the prefixes of x86-64 together with the instruction behind them.

namespace gosym::code {

namespace {

// Options and kinds of references, of llvm-c/DisassemblerTypes.h, which is not there to be
// compiled with where the library is loaded. LLVM has kNearLoad for an operand that is told by
// its distance from the instruction.
constexpr uint64_t kPrintImmediatesAsHex = 2;
constexpr uint64_t kIntelVariant = 4;
constexpr uint64_t kBranch = 1;  // what a reference comes from
constexpr uint64_t kNearLoad = 2;

struct Machine {
  uint16_t elf_machine;
  const char* triple;
  // Extensions that are decoded besides the machine's oldest instructions. For x86-64 that is
  // everything.
  const char* features;
  const char* features_of_14;  // LLVM 14 does not know "all"
  uint64_t step;
};
constexpr Machine kMachines[] = {
    {EM_X86_64, "x86_64-linux-gnu", "", "", 1},
    {EM_AARCH64, "aarch64-linux-gnu", "+all",
     "+v8.7a,+crypto,+sve2,+fullfp16,+bf16,+i8mm,+mte,+sha3,+sm4,+rand,+tme", 4},
};

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
  // LLVM calls this for operands that may be addresses, to have them named. No name is given:
  // the text keeps the number, and the reference is noted for whoever shows the instruction.
  // `type` has what the reference comes from, and takes what it was found to be: 0 is nothing.
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
  const Llvm* llvm = find_llvm(machine);
  if (!llvm)
    return no_library();
  // References outlive the context, which keeps their address.
  auto references = std::make_unique<References>();
  const char* features = llvm->version == 14 ? found->features_of_14 : found->features;
  // No kind of CPU is named, and no operand is looked up: "", 0 and null.
  Context context(llvm->create(found->triple, "", features, references.get(), 0, nullptr,
                               &Disassembler::tell),
                  llvm->dispose);
  if (!context)
    return no_library();
  llvm->set_options(context.get(), kPrintImmediatesAsHex);
  // The option is said once more, as it is lost with the other printer.
  if (syntax == Syntax::kIntel && machine == EM_X86_64)
    llvm->set_options(context.get(), kIntelVariant | kPrintImmediatesAsHex);
  return Disassembler(*llvm, found->step, std::move(references), std::move(context));
}

Instruction Disassembler::decode(Bytes code, ImageAddress address) {
  code = code.first(std::min(code.size(), kLongest));
  Instruction instruction = decode_part(code, address);
  std::string prefixes;
  // Prefixes are put before the instruction that they belong to, as one with it.
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
  // LLVM takes bytes that it could change: they are copied. decode() has cut them to kLongest.
  uint8_t bytes[kLongest];
  std::memcpy(bytes, code.data(), code.size());
  *references_ = {};
  char text[512];
  size_t used = llvm_->disassemble(context_.get(), bytes, code.size(), to_integer(address),
                                   text, sizeof(text));
  // Bytes that are no instruction are passed over by the machine's least step.
  if (used == 0 || used > code.size())
    return {.size = std::min<uint64_t>(step_, code.size())};
  return {.size = used,
          .text = tidied(text),
          .target = references_->target,
          .data = references_->data};
}

}  // namespace gosym::code
