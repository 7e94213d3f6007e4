#include "unwind/unwind_rules.h"

#include <algorithm>
#include <array>

#include "elf/calls.h"
#include "elf/return_path.h"
#include "go/unwind_rule.h"

namespace gosym {

namespace {

// Functions of C libraries that begin a stack, where they have no unwind tables.
constexpr auto kRoots = std::to_array<std::string_view>(
    {"_FPC_proc_start", "__clone", "__libc_start_main", "__start_context", "_dlstart", "_start",
     "_start_c", "clone", "libc_start_main_stage2"});

// They are called with what the function of a program or thread returned.
constexpr auto kExits =
    std::to_array<std::string_view>({"__pthread_exit", "exit", "pthread_exit", "thrd_exit"});

// The function at an address; empty if nothing names it.
std::string_view name_at(Binary& binary, ImageAddress address) {
  const elf::SymbolTable* symbols = binary.symbols();
  if (!symbols)
    return {};
  auto symbol = symbols->find(address);
  if (!symbol)
    symbol = symbols->guess(address);
  return symbol ? symbol->name : std::string_view();
}

// True if it is the first function of gccgo's goroutines, which returns to nothing. Only its
// files have .go_export: without that no symbol table has to be read for the name.
bool is_kickoff(Binary& binary, ImageAddress address) {
  return binary.image().find_section(".go_export") &&
         name_at(binary, address) == "runtime.kickoff";
}

// True if a stack begins in code without a rule, by the entry point of the program or by the
// name of the function.
bool is_root(Binary& binary, ImageAddress address) {
  constexpr uint64_t kMaxStartSize = 80;  // that of Free Pascal
  return to_integer(address) - to_integer(binary.image().entry) < kMaxStartSize ||
         std::ranges::count(kRoots, name_at(binary, address)) > 0;
}

// Likewise by what the code does that is returned to: it ends the thread, or hands what the
// first function has returned to a function that never returns.
bool is_root_returned_to(Binary& binary, ImageAddress address) {
  if (elf::is_thread_end(binary.image(), address))
    return true;
  auto call = elf::call_with_result(binary.image(), address);
  return call &&
         (call->is_last || std::ranges::count(kExits, name_at(binary, call->target)) > 0);
}

bool is_of_go(Binary& binary, ImageAddress address) {
  const std::optional<go::Module>& module = binary.go_module();
  auto pc = module ? module->pc_of(address) : std::nullopt;
  return pc && module->table.find(*pc) && !go::is_native(*module, address);
}

}  // namespace

Binary& UnwindRules::open(const Location& location) {
  uint32_t index = profile_->mappings[to_index(location.mapping)].image;
  std::shared_ptr<Binary>& opened = images_[index];
  if (!opened)
    opened = open_image(profile_->images[index]);
  if (!opened)
    opened = std::make_shared<Binary>();
  return *opened;
}

// Null if it cannot be used.
std::shared_ptr<Binary> UnwindRules::open_image(const ProfileImage& image) const {
  if (image.kind == ProfileImage::Kind::kFile)
    return cache_.open(image.file, files_).binary;
  if (image.kind != ProfileImage::Kind::kVdso)
    return nullptr;
  auto vdso = Binary::open(as_bytes(vdso_));
  return vdso ? *vdso : nullptr;
}

std::optional<UnwindRule> UnwindRules::find(const Location& location) {
  if (!location.image_address)
    return std::nullopt;
  Binary& binary = open(location);
  const elf::Image& image = binary.image();
  // Signal frames and begins of coroutines are known by their code, before any table is asked:
  // that of musl is missing, others do not hold the address behind the system call.
  if (!location.is_return && elf::is_signal_return(image, *location.image_address))
    return image.machine == EM_AARCH64 ? kSignalReturnArm64 : kSignalReturn;
  if (!location.is_return && elf::is_context_start(image, *location.image_address))
    return UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone};
  // Rules are those of the call, not of what is returned to: that may be another function, if
  // the call was the last instruction of a function that does not come back.
  ImageAddress address = location.call_in_image();
  if (is_kickoff(binary, address))
    return UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone};
  // Go's linker writes no .eh_frame, and the C linker one that leaves Go's code out.
  const std::optional<go::Module>& module = binary.go_module();
  auto rule = module ? go::unwind_rule(*module, address) : std::nullopt;
  if (!rule && binary.call_frames())
    rule = binary.call_frames()->find(address);
  // Stubs of the PLT, which not every linker describes.
  if (!rule)
    rule = elf::rule_at_jump(image, address);
  if (rule || is_of_go(binary, address))
    return rule;
  // Names are asked last, for it takes a symbol table to know them. Without a name the
  // instructions up to the next return tell how the stack pointer moves.
  bool begins_stack =
      is_root(binary, address) ||
      (location.is_return && is_root_returned_to(binary, *location.image_address));
  return begins_stack ? UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone}
                      : elf::rule_by_code(image, *location.image_address);
}

std::optional<CallerFrame> UnwindRules::evaluate(const Location& location,
                                                 MachineState& state) {
  const dwarf::CallFrames* frames =
      location.image_address ? open(location).call_frames() : nullptr;
  return frames ? frames->evaluate(location.call_in_image(), state) : std::nullopt;
}

CallerRegister UnwindRules::caller_register(const Location& location, uint64_t number,
                                            uint64_t cfa, MachineState& state) {
  if (!location.image_address)
    return {};  // a register that is lost, here and below
  Binary& binary = open(location);
  const std::optional<go::Module>& module = binary.go_module();
  // Go's tables tell of no register but those of the rule itself: others count as lost.
  bool is_go = module && go::unwind_rule(*module, location.call_in_image());
  if (is_go || !binary.call_frames())
    return {};
  return binary.call_frames()->caller_register(location.call_in_image(), number, cfa, state);
}

std::optional<go::Bordering> UnwindRules::bordering(const Location& location) {
  if (!location.image_address)
    return std::nullopt;
  const std::optional<go::Module>& module = open(location).go_module();
  return module ? go::bordering(*module, location.call_in_image()) : std::nullopt;
}

bool UnwindRules::is_signal_return(const Location& location) {
  return location.image_address &&
         elf::is_signal_return(open(location).image(), *location.image_address);
}

bool UnwindRules::is_context_start(const Location& location) {
  return location.image_address &&
         elf::is_context_start(open(location).image(), *location.image_address);
}

bool UnwindRules::begins_switch(const Location& location) {
  if (!location.image_address)
    return false;
  const std::optional<go::Module>& module = open(location).go_module();
  uint64_t address = to_integer(*location.image_address);
  return module && go::is_place_of_switch(*module, ImageAddress{address}) &&
         !go::is_place_of_switch(*module, ImageAddress{address - 1});
}

bool UnwindRules::is_return_address(const Location& location) {
  if (!location.image_address)
    return true;
  Binary& binary = open(location);
  const std::optional<go::Module>& module = binary.go_module();
  // A file that cannot be used says nothing against it.
  return binary.image().file.empty() ||
         elf::may_follow_call(binary.image(), *location.image_address) ||
         (module && (go::is_call_of_deferreturn(*module, *location.image_address) ||
                     go::is_place_of_switch(*module, *location.image_address)));
}

}  // namespace gosym
