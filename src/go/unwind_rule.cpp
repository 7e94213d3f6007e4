#include "go/unwind_rule.h"

#include <algorithm>
#include <array>

#include "elf/calls.h"
#include "go/pclntab.h"

namespace gosym::go {

namespace {

using FramePointer = UnwindRule::FramePointer;
using ReturnAddress = UnwindRule::ReturnAddress;

constexpr UnwindRule kStackBegins = {.return_kind = ReturnAddress::kNone};

// Flags exist from Go 1.17 on. Before, the runtime knew such functions by ids, which changed
// with every few releases.
constexpr uint8_t kFlagRoot = 1;
constexpr uint8_t kFlagSetsStackPointer = 2;
constexpr uint8_t kFlagAssembly = 4;  // from Go 1.18 on

// Names of the functions that have these flags in later releases.
constexpr auto kRoots = std::to_array<std::string_view>(
    {"_rt0_386_linux", "_rt0_amd64", "_rt0_amd64_linux", "_rt0_arm64_linux",
     "runtime.externalthreadhandler", "runtime.goexit", "runtime.mstart", "runtime.rt0_go"});
constexpr auto kSwitches = std::to_array<std::string_view>(
    {"racecall", "runtime.asmcgocall", "runtime.cgocallback", "runtime.cgocallback_gofunc",
     "runtime.gogo", "runtime.mcall", "runtime.morestack", "runtime.morestack_noctxt",
     "runtime.nanotime", "runtime.nanotime1", "runtime.onM", "runtime.systemstack",
     "runtime.walltime", "runtime.walltime1"});

// True if the function has the flag or, in tables of releases that may lack flags, a name of
// `names`, those of functions that have it later.
bool has(const Pclntab& table, const Function& function, uint8_t flag,
         std::span<const std::string_view> names) {
  return (function.flags & flag) != 0 ||
         (table.format() < Format::kGo1_18 &&
          std::ranges::count(names, table.name(function.name_offset)) > 0);
}

std::optional<Function> function_at(const Module& module, ImageAddress address) {
  auto pc = module.pc_of(address);
  auto index = pc ? module.table.find(*pc) : std::nullopt;
  return index ? module.table.function(*index) : std::nullopt;
}

// True if it has neither a table of its stack depths nor one of its lines, as C code that Go's
// linker took in.
bool lacks_tables(const Function& function) {
  return function.pcsp == 0 && function.pcln == 0;
}

// The function's name; empty: there is none.
std::string_view name_at(const Module& module, ImageAddress address) {
  auto function = function_at(module, address);
  return function ? module.table.name(function->name_offset) : std::string_view();
}

// runtime.sigreturn and its like, to which signal handlers return.
bool is_sigreturn(const Module& module, const Function& function) {
  return module.image->machine == EM_X86_64 &&
         module.table.name(function.name_offset).starts_with("runtime.sigreturn");
}

// The first function of Go's signal handlers. The runtime takes it for a root, though it
// returns to the code that ends them; on arm64 the linker's table says so as well.
bool is_handler(const Module& module, const Function& function) {
  return module.image->machine != EM_AARCH64 &&
         module.table.name(function.name_offset) == "runtime.sigtramp";
}

// True if runtime.mcall or runtime.morestack has called a function of the scheduler, which
// never returns: its stack begins there, though up to Go 1.20 the frame pointer still leads to
// that of a goroutine, which may be another's by now. `address` lies in the call, a byte before
// what it returns to.
bool is_scheduler_root(const Module& module, const Function& function, ImageAddress address) {
  std::string_view name = module.table.name(function.name_offset);
  return (name == "runtime.mcall" || name == "runtime.morestack") &&
         elf::may_follow_call(*module.image, ImageAddress{to_integer(address) + 1});
}

// It goes to the stack of a goroutine for good: nothing there has called it.
bool is_gogo(const Module& module, const Function& function) {
  std::string_view name = module.table.name(function.name_offset);
  return name == "runtime.gogo" || name == "gogo";
}

// and $-16, %rsp
bool aligns_stack(std::string_view code) {
  return code.starts_with("\x48\x83\xe4") || code.starts_with("\x48\x81\xe4");
}

// jmp *%reg: Go's table of stack depths goes on behind it as if it came from there.
bool has_jump(std::string_view code) {
  for (size_t at = code.find('\xff'); at != code.npos; at = code.find('\xff', at + 1))
    if (at + 1 < code.size() && (static_cast<uint8_t>(code[at + 1]) & 0xf8) == 0xe0)
      return true;
  return false;
}

// True if the code of a function that goes to another stack may be on that at `pc`: it has
// loaded the stack pointer, or aligned it or is about to, and not loaded it again, to come
// back. Bytes that look like that within another instruction count as well. cgocallback goes
// back and forth.
bool may_have_switched(const Module& module, const Function& function, uint64_t pc) {
  if (module.image->machine != EM_X86_64)
    return true;  // other code is not read
  auto address = module.address_of(function.entry);
  auto code = address ? module.image->loaded_from(*address) : std::nullopt;
  if (!code || pc < function.entry || code->size() < pc - function.entry)
    return true;
  // Only code before `pc` has run. A mask behind it counts too, as the table of stack depths
  // does not tell on which side of it the function is.
  std::string_view passed = as_text(code->first(pc - function.entry));
  if (aligns_stack(as_text(code->subspan(passed.size()))) || has_jump(passed))
    return true;
  std::string_view name = module.table.name(function.name_offset);
  bool comes_back = !name.starts_with("runtime.cgocallback");
  bool has_switched = false;
  // Each byte is taken for the beginning of an instruction: a wrong hit costs a caller at most.
  for (uint64_t at = 0; at + 3 <= pc - function.entry; at++) {
    uint8_t opcode = load<uint8_t>(*code, at + 1).value_or(0);
    uint8_t operands = load<uint8_t>(*code, at + 2).value_or(0);
    // The last bits of the prefix are of registers from %r8 on.
    uint8_t prefix = load<uint8_t>(*code, at).value_or(0);
    bool is_of_rsp = (prefix & 0xf9) == 0x48;
    bool loads_rsp = (prefix & 0xfc) == 0x48 && opcode == 0x8b && (operands & 0x38) == 0x20;
    bool is_copy = is_of_rsp && opcode == 0x89 && (operands & 0xc7) == 0xc4;
    bool is_mask = is_of_rsp && (opcode == 0x83 || opcode == 0x81) && operands == 0xe4;
    if (loads_rsp || is_copy)
      has_switched = !has_switched || !comes_back;
    else if (is_mask)
      has_switched = true;
  }
  return has_switched;
}

// Up to Go 1.15 the runtime's clocks save their stack pointer in %rbp before they may go to
// another stack (mov %rsp, %rbp), to come back. The depth there; none of other functions.
std::optional<int32_t> depth_in_rbp(const Module& module, const Function& function,
                                    uint64_t pc) {
  constexpr std::string_view kSave = "\x48\x89\xe5";
  std::string_view name = module.table.name(function.name_offset);
  bool is_clock = name.starts_with("runtime.nanotime") || name.starts_with("runtime.walltime");
  auto address = module.address_of(function.entry);
  auto code = address ? module.image->loaded_from(*address) : std::nullopt;
  if (module.image->machine != EM_X86_64 || !is_clock || !code || pc < function.entry)
    return std::nullopt;
  size_t at = as_text(*code).substr(0, pc - function.entry).find(kSave);
  if (at == std::string_view::npos)
    return std::nullopt;
  return module.table.value(function, function.pcsp, function.entry + at);
}

// The first instruction by which a function moves its stack pointer.
struct FirstMove {
  uint64_t pc = 0;    // behind the instruction
  int32_t depth = 0;  // what it moves it by
};

std::optional<FirstMove> first_move(const Pclntab& table, const Function& function) {
  auto rows = table.rows(function.pcsp);
  while (auto row = rows.next())
    if (row->value > 0 && row->begin < row->end)
      return FirstMove{function.entry + row->begin, row->value};
  return std::nullopt;
}

std::string_view code_at(const Module& module, uint64_t pc) {
  auto address = module.address_of(pc);
  auto code = address ? module.image->loaded_from(*address) : std::nullopt;
  return as_text(code.value_or(Bytes{}));
}

// An instruction with a place above the stack pointer; its encodings take none, one or four
// bytes of offset.
struct StackInstruction {
  std::string_view plain;
  std::string_view with_byte;
  std::string_view with_word;
};
constexpr StackInstruction kStoreOfRbp = {"\x48\x89\x2c\x24", "\x48\x89\x6c\x24",
                                          "\x48\x89\xac\x24"};  // mov %rbp, offset(%rsp)
constexpr StackInstruction kLoadOfRbp = {"\x48\x8b\x2c\x24", "\x48\x8b\x6c\x24",
                                         "\x48\x8b\xac\x24"};  // mov offset(%rsp), %rbp

// The length of the instruction with this offset that the code begins with; 0 if it does not.
uint32_t length_of(const StackInstruction& form, std::string_view code, int32_t offset) {
  auto number = static_cast<uint32_t>(offset);
  Bytes bytes = as_bytes(code);
  if (code.starts_with(form.plain))
    return offset == 0 ? 4 : 0;
  if (code.starts_with(form.with_byte))
    return load<uint8_t>(bytes, 4) == number ? 5 : 0;
  return code.starts_with(form.with_word) && load<uint32_t>(bytes, 4) == number ? 8 : 0;
}

// True if the code before `pc` has loaded what was saved at the offset, and the stack is moved
// back next: add $n, %rsp, or sub $-128, %rsp.
bool has_reloaded(const Module& module, uint64_t pc, int32_t offset) {
  std::string_view next = code_at(module, pc);
  bool moves_back = next.starts_with("\x48\x83\xc4") || next.starts_with("\x48\x81\xc4") ||
                    next.starts_with("\x48\x83\xec\x80");
  auto is_load = [&](uint32_t length) {
    return length_of(kLoadOfRbp, code_at(module, pc - length), offset) == length;
  };
  return moves_back && (is_load(4) || is_load(5) || is_load(8));
}

FramePointer frame_of_amd64(const Module& module, const FirstMove& move, uint64_t pc,
                            int32_t depth) {
  // The push is one byte long, and is the move: it lies right before move.pc.
  constexpr std::string_view kPush = "\x55\x48\x89\xe5";  // push %rbp; mov %rsp, %rbp
  if (code_at(module, move.pc - 1).starts_with(kPush))
    return pc == move.pc ? FramePointer::kUnchanged : FramePointer::kOnStack;
  // Before Go 1.21 the register is stored below the return address, after the stack pointer
  // moved.
  int32_t saved = move.depth - 8;
  uint32_t store = length_of(kStoreOfRbp, code_at(module, move.pc), saved);
  if (store == 0)
    return FramePointer::kLost;
  bool is_unchanged =
      pc <= move.pc + store || (depth == move.depth && has_reloaded(module, pc, saved));
  return is_unchanged ? FramePointer::kUnchanged : FramePointer::kOnStack;
}

FramePointer frame_of_arm64(const Module& module, const FirstMove& move, uint64_t pc) {
  constexpr uint32_t kStore = 0xf81f83fd;      // stur x29, [sp, -8]
  constexpr uint32_t kStorePair = 0xa93ffa9d;  // stp x29, x30, [x20, -8]; mov sp, x20
  auto code = [&](uint64_t at) {
    return load<uint32_t>(as_bytes(code_at(module, at)), 0, module.image->order);
  };
  // Large frames store the pair before the stack pointer is moved to it: two instructions
  // before what lies behind the move.
  if (code(move.pc - 8) == kStorePair)
    return FramePointer::kOnStack;
  if (code(move.pc) != kStore)
    return FramePointer::kLost;
  return pc == move.pc ? FramePointer::kUnchanged : FramePointer::kOnStack;
}

// Before Go 1.5 the register served for other things, as it does on 386 to this day.
FramePointer find_frame_pointer(const Module& module, const Function& function, uint64_t pc,
                                int32_t depth) {
  uint16_t machine = module.image->machine;
  if (machine == EM_386 || module.table.format() < Format::kGo1_5)
    return FramePointer::kLost;
  if (depth == 0)
    return FramePointer::kUnchanged;
  auto move = first_move(module.table, function);
  if (!move)
    return FramePointer::kLost;
  return machine == EM_X86_64 ? frame_of_amd64(module, *move, pc, depth)
                              : frame_of_arm64(module, *move, pc);
}

// Stacks grow to 1 GB at the most (runtime.maxstacksize).
constexpr int32_t kMaxStackDepth = 1'000'000'000;

// `depth` is what the stack pointer was moved by, `word` the size of the return address above.
UnwindRule rule_of_x86(int32_t depth, int32_t word) {
  UnwindRule rule;
  rule.cfa = {Anchor::kStackPointer, depth + word};
  rule.return_address = {Anchor::kCfa, -word};
  return rule;
}

// It may be on the stack that it has left, which is then another one.
UnwindRule rule_of_clock(int32_t depth) {
  UnwindRule rule = rule_of_x86(depth, 8);
  rule.cfa.anchor = Anchor::kFramePointer;
  rule.frame_kind = depth > 0 ? FramePointer::kOnStack : FramePointer::kLost;
  rule.frame_pointer = {Anchor::kCfa, -16};
  rule.may_have_left = true;
  return rule;
}

// `is_injected`: see unwind_rule.h.
UnwindRule rule_of_arm64(int32_t depth, bool is_injected) {
  constexpr int32_t kPushed = 16;
  UnwindRule rule;
  rule.cfa = {Anchor::kStackPointer, depth + (is_injected ? kPushed : 0)};
  if (depth == 0)
    rule.return_kind = ReturnAddress::kInRegister;
  else
    rule.return_address = {Anchor::kStackPointer, 0};
  return rule;
}

// crosscall2, which C code calls, has its frame where C code has it: it saves the frame pointer
// and the link register with the other registers that C code wants to keep.
void set_frame_of_crosscall(const Module& module, const Function& function, uint64_t pc,
                            UnwindRule& rule) {
  // stp x29, x30, [sp, 8 * N]; or up to Go 1.19 str x29, [sp, 8 * N] and str x30, one behind
  // it.
  constexpr uint32_t kStorePair = 0xa9007bfd;
  constexpr uint32_t kNumberOfPair = 0x3f8000;  // N, which is not negative here
  constexpr uint32_t kStore = 0xf90003fe;
  constexpr uint32_t kNumber = 0x3ffc00;
  Bytes code = as_bytes(code_at(module, function.entry));
  for (uint64_t at = 0; at < pc - function.entry; at += 4) {
    uint32_t instruction = load<uint32_t>(code, at, module.image->order).value_or(0);
    bool is_pair = (instruction & ~kNumberOfPair) == kStorePair;
    if (!is_pair && (instruction & ~kNumber) != kStore)
      continue;
    auto offset = static_cast<int32_t>(is_pair ? 8 * ((instruction & kNumberOfPair) >> 15)
                                               : 8 * ((instruction & kNumber) >> 10) - 8);
    rule.return_kind = ReturnAddress::kOnStack;
    rule.return_address = {Anchor::kStackPointer, offset + 8};
    rule.frame_kind = FramePointer::kOnStack;
    rule.frame_pointer = {Anchor::kStackPointer, offset};
    return;
  }
  rule.return_kind = ReturnAddress::kInRegister;
  rule.frame_kind = FramePointer::kUnchanged;
}

std::optional<UnwindRule> rule_of(uint16_t machine, int32_t depth, bool is_injected) {
  // Below 0 the return address has been taken off the stack, to some register.
  if (depth < 0 || depth > kMaxStackDepth)
    return std::nullopt;
  switch (machine) {
    case EM_X86_64:
      return rule_of_x86(depth, 8);
    case EM_386:
      return rule_of_x86(depth, 4);
    case EM_AARCH64:
      return rule_of_arm64(depth, is_injected);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<UnwindRule> unwind_rule(const Module& module, ImageAddress address) {
  const Pclntab& table = module.table;
  auto pc = module.pc_of(address);
  auto function = function_at(module, address);
  if (!function)
    return std::nullopt;
  // Flags tell both kinds of functions; in tables before Go 1.18 their names do.
  if ((has(table, *function, kFlagRoot, kRoots) && !is_handler(module, *function)) ||
      is_scheduler_root(module, *function, address))
    return kStackBegins;
  // The kernel left the registers of the interrupted code on the stack there.
  if (is_sigreturn(module, *function))
    return kSignalReturn;
  // Functions that change to another stack: behind the switch the table counts from a stack
  // pointer that it knows nothing of.
  if (has(table, *function, kFlagSetsStackPointer, kSwitches) &&
      may_have_switched(module, *function, *pc)) {
    if (auto saved = depth_in_rbp(module, *function, *pc))
      return rule_of_clock(*saved);
    return is_gogo(module, *function) ? std::optional(kStackBegins) : std::nullopt;
  }

  // All other functions stay on one stack, for which the table tells the depth.
  auto depth = table.value(*function, function->pcsp, *pc);
  // Without the file wrappers of Go 1.10 and 1.11 are not told: they return as others do.
  bool is_injected = returns_to_interrupted(
      kind_of(table, module.wrapper_id, function->id, table.name(function->name_offset), {}));
  auto rule = depth ? rule_of(module.image->machine, *depth, is_injected) : std::nullopt;
  if (!rule)
    return std::nullopt;
  rule->is_signal_frame = is_injected;
  // No table tells if the caller's frame pointer is saved: the code of the prologue does.
  rule->frame_kind = find_frame_pointer(module, *function, *pc, *depth);
  if (rule->frame_kind == FramePointer::kOnStack)
    rule->frame_pointer = module.image->machine == EM_X86_64
                              ? StackPlace{Anchor::kCfa, -16}
                              : StackPlace{Anchor::kStackPointer, -8};
  if (module.image->machine == EM_AARCH64 && table.name(function->name_offset) == "crosscall2")
    set_frame_of_crosscall(module, *function, *pc, *rule);
  return rule;
}

bool is_native(const Module& module, ImageAddress address) {
  auto function = function_at(module, address);
  return function && lacks_tables(*function);
}

std::optional<Bordering> bordering(const Module& module, ImageAddress address) {
  auto function = function_at(module, address);
  if (!function || lacks_tables(*function))
    return std::nullopt;
  std::string_view name = module.table.name(function->name_offset);
  // The functions by which C code enters Go have no flag of their own.
  if (name == "crosscall2")
    return Bordering::kCalledByC;
  if (name.starts_with("runtime.cgocallback") && !name.starts_with("runtime.cgocallbackg"))
    return Bordering::kCalledByAssembly;
  // Older tables do not tell assembly from compiled code: all counts as assembly but cgocall,
  // so that C code that it seems to call shows that asmcgocall is missing in between.
  bool is_compiled = module.table.format() >= Format::kGo1_18
                         ? (function->flags & kFlagAssembly) == 0
                         : name == "runtime.cgocall";
  return is_compiled ? Bordering::kCompiled : Bordering::kAssembly;
}

bool is_call_of_deferreturn(const Module& module, ImageAddress address) {
  // call, with the distance behind its first byte.
  auto code = module.image->loaded_from(address);
  bool is_x86 = module.image->machine == EM_X86_64 || module.image->machine == EM_386;
  if (!is_x86 || !code || !as_text(*code).starts_with('\xe8'))
    return false;
  auto distance = load<uint32_t>(*code, 1);
  if (!distance)
    return false;
  uint64_t target =
      to_integer(address) + 5 + static_cast<uint64_t>(int64_t{static_cast<int32_t>(*distance)});
  return name_at(module, ImageAddress{target}) == "runtime.deferreturn";
}

bool is_place_of_switch(const Module& module, ImageAddress address) {
  return name_at(module, address) == "runtime.systemstack_switch";
}

}  // namespace gosym::go
