#include "perf_data/stacks.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "record/stacks/stack_slots.h"

// A copy of a stack takes up to 64 KiB a sample, of which report looks at a few words. These
// are chosen here by the code that chooses them when gosym records. Unlike there no unwind
// rules are known, so that all words are kept that may be a return address or a frame pointer.
namespace gosym::perf_data {

namespace {

// By the bits of sample_regs_user (asm/perf_regs.h of each machine) the numbers that DWARF
// gives the registers; the others are none of its.
struct Machine {
  std::span<const int8_t> numbers;
  size_t count;          // of numbers that DWARF has
  int8_t frame_pointer;  // these are bits
  int8_t stack_pointer;
  int8_t pc;
};

constexpr int8_t kNone = -1;
// ax, bx, cx, dx, si, di, bp, sp, ip, flags, cs, ss, ds, es, fs, gs, r8 to r15
constexpr std::array<int8_t, 24> kOfX86 = {
    0,     3,     2,     1,     4, 5, 6,  7,  kNone, kNone, kNone, kNone,
    kNone, kNone, kNone, kNone, 8, 9, 10, 11, 12,    13,    14,    15};
// x0 to x30, of which the last is the link register
constexpr std::array<int8_t, 31> kOfArm64 = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                             11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                             22, 23, 24, 25, 26, 27, 28, 29, 30};
constexpr Machine kX86 = {kOfX86, 16, 6, 7, 8};
constexpr Machine kArm64 = {kOfArm64, kOfArm64.size(), 29, 31, 32};

// Null for a machine whose registers are not known. A file that names none is taken for one of
// x86-64.
const Machine* machine_of(const std::string& name) {
  if (name == "aarch64" || name == "arm64")
    return &kArm64;
  return name == "x86_64" || name.empty() ? &kX86 : nullptr;
}

// The registers that a sample has.
class Registers {
public:
  Registers(const Sample& sample, uint64_t mask) : values_(sample.registers), mask_(mask) {}

  std::optional<uint64_t> at(int8_t bit) const {
    if ((mask_ >> bit & 1) == 0)
      return std::nullopt;
    // The values are those of the bits that are set, in order, without gaps.
    auto index = static_cast<size_t>(std::popcount(mask_ & ((uint64_t{1} << bit) - 1)));
    return index < values_.size() ? std::optional(values_[index]) : std::nullopt;
  }

private:
  std::span<const uint64_t> values_;
  uint64_t mask_;
};

// By the numbers of DWARF.
void number_registers(const Registers& registers, const Machine& machine,
                      std::vector<uint64_t>& out) {
  out.assign(machine.count, 0);
  for (size_t bit = 0; bit < machine.numbers.size(); bit++)
    if (int8_t number = machine.numbers[bit]; number != kNone)
      out[static_cast<size_t>(number)] = registers.at(static_cast<int8_t>(bit)).value_or(0);
}

}  // namespace

void ProcessStacks::add(const RawMapping& mapping) {
  CodeRanges& code = processes_[mapping.pid].code;
  size_t before = code.size();
  gosym::add(code, {mapping.start, mapping.length > UINT64_MAX - mapping.start
                                       ? UINT64_MAX
                                       : mapping.start + mapping.length});
  memory_ += code.size() > before ? sizeof(CodeRange) : 0;
}

void ProcessStacks::add(const ForkEvent& fork) {
  // A new thread, which has the mappings of its process.
  if (fork.pid == fork.parent_pid)
    return;
  processes_[fork.pid].parent = fork.parent_pid;
  memory_ += sizeof(Process) + 64;
}

// A child has what its parents have mapped, before it was there or after: enough to see which
// words may be return addresses. What was found is kept, for no mapping comes any more: samples
// with copies are read in a second pass (Conversion::run()).
const CodeRanges& ProcessStacks::code_of(uint32_t pid) {
  constexpr int kMaxParents = 16;  // in a damaged file two may be parents of each other
  constexpr size_t kMaxKept = 1 << 20;
  if (auto known = with_parents_.find(pid); known != with_parents_.end())
    return known->second;
  // Copies of the parents' ranges grow with each short-lived child: past this they are made
  // anew.
  if (ranges_with_parents_ > kMaxKept) {
    with_parents_.clear();
    ranges_with_parents_ = 0;
  }
  CodeRanges code;
  uint32_t next = pid;
  for (int i = 0; i < kMaxParents; i++) {
    auto process = processes_.find(next);
    if (process == processes_.end())
      break;
    for (const CodeRange& range : process->second.code)
      gosym::add(code, range);
    next = process->second.parent;
    if (next == 0)
      break;
  }
  ranges_with_parents_ += code.size() + 1;
  return with_parents_[pid] = std::move(code);
}

std::span<const StackWord> ProcessStacks::words_of(Sample& sample, const perf_event_attr& attr,
                                                   const std::string& machine_name,
                                                   RecordedSample& recorded) {
  const Machine* machine = machine_of(machine_name);
  if (!machine || sample.register_abi == PERF_SAMPLE_REGS_ABI_NONE)
    return {};
  Registers registers(sample, attr.sample_regs_user);
  auto stack_pointer = registers.at(machine->stack_pointer);
  auto frame_pointer = registers.at(machine->frame_pointer);
  auto pc = registers.at(machine->pc);
  // perf record --call-graph dwarf asks for no call chain of user code: the leaf is in the
  // registers.
  if (sample.user_stack.empty() && pc && *pc != 0)
    sample.user_stack.push_back(*pc);
  if (sample.user_stack.empty() || !stack_pointer ||
      sample.register_abi != PERF_SAMPLE_REGS_ABI_64)
    return {};
  // Words are told by their distance from the stack pointer, rounded down to 8 bytes. The
  // bytes of the copy then lie `misaligned` bytes behind the begin of the first word.
  uint64_t misaligned = *stack_pointer % 8;
  uint64_t begin = *stack_pointer - misaligned;
  // A frame pointer below the stack pointer wraps around and is too far as well.
  if (frame_pointer && *frame_pointer - begin <= kMaxFrameDistance &&
      (*frame_pointer - begin) % 8 == 0)
    recorded.frame_offset = *frame_pointer - begin;
  if (sample.stack.empty())
    return {};
  top_.assign((misaligned + sample.stack.size()) / 8, 0);
  // Bytes behind the last whole word are left out.
  if (!top_.empty())
    std::memcpy(reinterpret_cast<std::byte*>(top_.data()) + misaligned, sample.stack.data(),
                top_.size() * 8 - misaligned);
  number_registers(registers, *machine, registers_);
  StackTop top = {
      .stack_pointer = begin, .words = top_, .registers = registers_, .misaligned = misaligned};
  RecordedSample walked = recorded;
  walked.user_stack = sample.user_stack;
  // The rules are looked up by report, which has the files: here each function is one without
  // a rule.
  const CodeRanges& code = code_of(sample.pid);
  select_stack_slots(
      walked, top, code, [](uint64_t) { return std::nullopt; }, words_);
  take_registers(walked, top, code, words_);
  return words_;
}

}  // namespace gosym::perf_data
