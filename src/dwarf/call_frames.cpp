#include "dwarf/call_frames.h"

#include <algorithm>

#include "dwarf/frame_program.h"

// A question goes to the tables in order, .eh_frame before .debug_frame: the first that has an
// entry for the address answers. Its program is run up to the address, which gives a row. From
// there two ways lead on. Reduction turns the row into an UnwindRule, whose places are offsets
// from the stack pointer, the frame pointer or the CFA, and which therefore needs no
// registers. RowEvaluation computes the values themselves from the registers and memory of a
// thread, for rows that do not reduce.

namespace gosym::dwarf {

namespace {

using Kind = ColumnRule::Kind;

// From the System V ABI of each machine: rsp, rbp and rip; esp, ebp and eip, as .eh_frame of
// i386 numbers them; sp, x29 and x30. None for a machine whose tables are not read.
std::optional<FrameColumns> columns_of(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return FrameColumns{.stack_pointer = 7, .frame_pointer = 6, .program_counter = 16};
    case EM_386:
      return FrameColumns{.stack_pointer = 4, .frame_pointer = 5, .program_counter = 8};
    case EM_AARCH64:
      return FrameColumns{.stack_pointer = 31, .frame_pointer = 29, .link = 30};
    default:
      return std::nullopt;
  }
}

// The first sound header counts. Files that Go's own linker writes have none.
std::optional<FrameHeader> find_header(const elf::Image& image) {
  for (const elf::Segment& segment : image.segments) {
    auto bytes = image.loaded_from(segment.address);
    if (segment.type == PT_GNU_EH_FRAME && bytes)
      if (auto header =
              FrameHeader::read(*bytes, segment.address, image.order, image.pointer_size))
        return header;
  }
  return std::nullopt;
}

FrameSection eh_frame(const elf::Image& image) {
  FrameSection result{.order = image.order, .pointer_size = image.pointer_size};
  // Without section headers the segment of .eh_frame_hdr leads there. The end is not known: the
  // entry of length 0 is.
  if (const elf::Section* section = image.find_section(".eh_frame")) {
    result.address = section->address;
    result.bytes = image.contents(*section).value_or(Bytes{});
  } else if (auto header = find_header(image)) {
    result.address = header->eh_frame;
    result.bytes = image.loaded_from(header->eh_frame).value_or(Bytes{});
  }
  return result;
}

FrameSection debug_frame(const elf::Image& image) {
  return FrameSection{.bytes = image.contents(".debug_frame").value_or(Bytes{}),
                      .is_debug_frame = true,
                      .order = image.order,
                      .pointer_size = image.pointer_size};
}

}  // namespace

std::unique_ptr<CallFrames> CallFrames::open(const elf::Image& image) {
  auto columns = columns_of(image.machine);
  if (!columns)
    return nullptr;
  std::unique_ptr<CallFrames> frames(new CallFrames(image, *columns));
  for (const auto& section : {eh_frame(image), debug_frame(image)})
    if (FrameTable table(section); !table.is_empty())
      frames->tables_.push_back(std::move(table));
  return frames->tables_.empty() ? nullptr : std::move(frames);
}

std::unique_ptr<CallFrames> CallFrames::open_by_header(const elf::Image& image) {
  auto columns = columns_of(image.machine);
  auto header = columns ? find_header(image) : std::nullopt;
  if (!header || header->entries.empty())
    return nullptr;
  std::unique_ptr<CallFrames> frames(new CallFrames(image, *columns));
  frames->tables_.emplace_back(eh_frame(image), *header);
  return frames;
}

namespace {

std::optional<StackPlace> place(std::optional<Anchor> anchor, int64_t offset) {
  // A place is an anchor and 32 bits of offset, as UnwindRule stores it. None for a plain
  // number, and for an offset that does not fit: no frame is that large.
  if (!anchor || offset < INT32_MIN || offset > INT32_MAX)
    return std::nullopt;
  return StackPlace{*anchor, static_cast<int32_t>(offset)};
}

// Turns the row of one address into a rule.
class Reduction {
public:
  Reduction(const FrameColumns& columns, ByteOrder order, ImageAddress address)
      : columns_(columns), order_(order), address_(address) {}

  std::optional<UnwindRule> reduce(const FrameRow& row) const {
    UnwindRule rule;
    // The frame pointer alone may fail: without it the caller is found, and only what lies
    // behind a caller that needs it is lost.
    if (!set_cfa(row, rule) || !is_cfa(row.stack_pointer, rule) ||
        !set_return_address(row.return_address, rule))
      return std::nullopt;
    set_frame_pointer(row.frame_pointer, rule);
    return rule;
  }

private:
  std::optional<FrameValue> evaluate(Bytes expression, std::optional<Anchor> start) const {
    return dwarf::evaluate(Reader(expression, order_), columns_, address_, start);
  }

  bool set_cfa(const FrameRow& row, UnwindRule& rule) const;
  std::optional<StackPlace> place_of(const ColumnRule& column) const;
  bool is_cfa(const ColumnRule& stack_pointer, const UnwindRule& rule) const;
  bool set_return_address(const ColumnRule& column, UnwindRule& rule) const;
  void set_frame_pointer(const ColumnRule& column, UnwindRule& rule) const;

  const FrameColumns& columns_;
  ByteOrder order_;
  ImageAddress address_;
};

// False for a CFA that no rule can tell: find() then leaves the row to evaluate().
bool Reduction::set_cfa(const FrameRow& row, UnwindRule& rule) const {
  // The CFA counts from any register in the format. A rule can name two: for others, such as
  // r10 in functions that realign their stack, the row has to be evaluated.
  std::optional<FrameValue> cfa;
  if (!row.cfa_expression.empty())
    cfa = evaluate(row.cfa_expression, std::nullopt);
  else if (row.cfa_column == columns_.stack_pointer)
    cfa = FrameValue{Anchor::kStackPointer, row.cfa_offset};
  else if (row.cfa_column == columns_.frame_pointer)
    cfa = FrameValue{Anchor::kFramePointer, row.cfa_offset};
  auto at = cfa ? place(cfa->anchor, cfa->offset) : std::nullopt;
  if (!at)
    return false;
  rule.cfa = *at;
  rule.is_cfa_loaded = cfa->is_loaded;
  return true;
}

// The place in memory at which the caller's value was saved. None for a value that lies in a
// register, is computed, or has not been saved.
std::optional<StackPlace> Reduction::place_of(const ColumnRule& column) const {
  if (column.kind == Kind::kOffset)
    return place(Anchor::kCfa, column.value);
  if (column.kind != Kind::kExpression)
    return std::nullopt;
  // Expressions of columns begin with the CFA on their stack (DWARF 5, 6.4.2.3).
  auto value = evaluate(column.expression, Anchor::kCfa);
  return value && !value->is_loaded ? place(value->anchor, value->offset) : std::nullopt;
}

// True if the stack pointer of the caller is the CFA. Signal frames have an explicit rule.
bool Reduction::is_cfa(const ColumnRule& stack_pointer, const UnwindRule& rule) const {
  if (stack_pointer.kind == Kind::kUnset)
    return true;
  if (stack_pointer.kind == Kind::kValue)
    return stack_pointer.value == 0;
  // Left is the form in which a signal frame's sigcontext is told: the stack pointer lies at
  // the place that the CFA is loaded from.
  return rule.is_cfa_loaded && place_of(stack_pointer) == rule.cfa;
}

// False for a place that no rule can tell: find() then leaves the row to evaluate().
bool Reduction::set_return_address(const ColumnRule& column, UnwindRule& rule) const {
  using ReturnAddress = UnwindRule::ReturnAddress;
  bool has_link = columns_.link != FrameColumns::kNone;
  if (auto at = place_of(column)) {
    rule.return_kind = ReturnAddress::kOnStack;
    rule.return_address = *at;
    return true;
  }
  if (column.kind == Kind::kUndefined) {
    rule.return_kind = ReturnAddress::kNone;
    return true;
  }
  // A column without a rule means the register itself, where the machine has one for it.
  rule.return_kind = ReturnAddress::kInRegister;
  if (column.kind == Kind::kRegister)
    return has_link && static_cast<uint64_t>(column.value) == columns_.link;
  return has_link && (column.kind == Kind::kUnset || column.kind == Kind::kSame);
}

// A column without a rule leaves kUnchanged, with which a rule begins.
void Reduction::set_frame_pointer(const ColumnRule& column, UnwindRule& rule) const {
  using FramePointer = UnwindRule::FramePointer;
  if (auto at = place_of(column)) {
    rule.frame_kind = FramePointer::kOnStack;
    rule.frame_pointer = *at;
  } else if (column.kind != Kind::kUnset && column.kind != Kind::kSame) {
    rule.frame_kind = FramePointer::kLost;
  }
}

}  // namespace

std::optional<CallFrames::Found> CallFrames::find_row(ImageAddress address,
                                                      uint64_t wanted) const {
  // The first table that has the address decides, even where its program is damaged.
  for (const FrameTable& table : tables_) {
    auto entry = table.find(address);
    if (!entry)
      continue;
    auto row = dwarf::find_row(*entry, columns_, image_.order, address, wanted);
    return row ? std::optional(Found{*entry, *row}) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<elf::AddressRange> CallFrames::function_at(ImageAddress address) const {
  for (const FrameTable& table : tables_)
    if (auto entry = table.find(address))
      return elf::AddressRange{entry->begin, entry->end};
  return std::nullopt;
}

std::vector<elf::AddressRange> CallFrames::functions() const {
  std::vector<elf::AddressRange> functions;
  for (const FrameTable& table : tables_)
    for (const FrameEntry& entry : table.functions())
      functions.push_back({entry.begin, entry.end});
  return functions;
}

bool CallFrames::is_one_piece(ImageAddress begin, ImageAddress address) const {
  return std::ranges::all_of(
      tables_, [&](const FrameTable& table) { return table.is_one_piece(begin, address); });
}

std::optional<UnwindRule> CallFrames::find(ImageAddress address) const {
  auto found = find_row(address);
  if (!found)
    return std::nullopt;
  // Rows that do not reduce are not lost: the rule says that evaluate() has to be asked, with
  // the registers of the thread at hand.
  UnwindRule rule = Reduction(columns_, image_.order, address)
                        .reduce(found->row)
                        .value_or(UnwindRule{.is_evaluated = true});
  // The outermost function says so by its return address, however its frame is told.
  if (rule.is_evaluated && found->row.return_address.kind == Kind::kUndefined)
    rule = {.return_kind = UnwindRule::ReturnAddress::kNone};
  rule.is_signal_frame = found->entry.setup.is_signal_frame;
  return rule;
}

namespace {

// Turns the row of one address into values.
class RowEvaluation {
public:
  RowEvaluation(const FrameColumns& columns, ByteOrder order, ImageAddress address,
                MachineState& state)
      : columns_(columns), order_(order), state_(columns, address, state) {}

  // None without the CFA or the stack pointer of the caller; what else is not known is lost.
  // `return_column` is the register that the entry names for the return address.
  std::optional<CallerFrame> evaluate(const FrameRow& row, uint64_t return_column) {
    auto cfa = cfa_of(row);
    if (!cfa)
      return std::nullopt;
    CallerFrame frame;
    frame.cfa = frame.stack_pointer = *cfa;
    frame.return_address = locate(row.return_address, *cfa);
    // Unchanged, it is still in the register that the return column stands for: it is told by
    // its number, as the caller of this knows no columns.
    if (frame.return_address.kind == CallerRegister::Kind::kUnchanged)
      frame.return_address = {CallerRegister::Kind::kInRegister, return_column};
    frame.frame_pointer = locate(row.frame_pointer, *cfa);
    // Without a rule the caller's stack pointer is the CFA.
    if (row.stack_pointer.kind == Kind::kUnset)
      return frame;
    auto stack_pointer = value_of(locate(row.stack_pointer, *cfa));
    if (!stack_pointer)
      return std::nullopt;
    frame.stack_pointer = *stack_pointer;
    return frame;
  }

  // The place that the rule of a column gives for its value. {} is kLost: it cannot be told.
  CallerRegister locate(const ColumnRule& rule, uint64_t cfa) {
    using To = CallerRegister::Kind;
    auto at_cfa = cfa + static_cast<uint64_t>(rule.value);
    switch (rule.kind) {
      case Kind::kUndefined:
        return {};
      case Kind::kUnset:
      case Kind::kSame:
        return {To::kUnchanged, 0};
      case Kind::kOffset:
        return {To::kOnStack, at_cfa};
      case Kind::kValue:
        return {To::kValue, at_cfa};
      case Kind::kRegister:
        return in_register(static_cast<uint64_t>(rule.value));
      case Kind::kExpression:
      case Kind::kValueExpression: {
        auto value = dwarf::evaluate(Reader(rule.expression, order_), state_, cfa);
        if (!value)
          return {};
        return {rule.kind == Kind::kExpression ? To::kOnStack : To::kValue, *value};
      }
    }
    return {};
  }

private:
  // A machine state that also knows the column numbers of pc, stack and frame pointer.
  class State : public MachineState {
  public:
    State(const FrameColumns& columns, ImageAddress address, MachineState& machine)
        : columns_(columns), address_(address), machine_(machine) {}

    std::optional<uint64_t> stack_pointer() override { return machine_.stack_pointer(); }
    std::optional<uint64_t> frame_pointer() override { return machine_.frame_pointer(); }
    std::optional<uint64_t> register_value(uint64_t number) override {
      // The address in the image stands for the one in memory. Expressions of the linker's
      // stubs take its low four bits, and these agree: a loader moves code by whole pages.
      if (number == columns_.program_counter)
        return to_integer(address_);
      if (number == columns_.stack_pointer)
        return stack_pointer();
      return number == columns_.frame_pointer ? frame_pointer()
                                              : machine_.register_value(number);
    }
    std::optional<uint64_t> word_at(uint64_t address) override {
      return machine_.word_at(address);
    }

  private:
    const FrameColumns& columns_;
    ImageAddress address_;
    MachineState& machine_;
  };

  // The two pointers are read here: only State knows them by their numbers.
  CallerRegister in_register(uint64_t number) {
    using To = CallerRegister::Kind;
    if (number != columns_.stack_pointer && number != columns_.frame_pointer)
      return {To::kInRegister, number};
    auto value = state_.register_value(number);
    return value ? CallerRegister{To::kValue, *value} : CallerRegister{};
  }

  std::optional<uint64_t> cfa_of(const FrameRow& row) {
    if (!row.cfa_expression.empty())
      return dwarf::evaluate(Reader(row.cfa_expression, order_), state_, std::nullopt);
    auto base = state_.register_value(row.cfa_column);
    return base ? std::optional(*base + static_cast<uint64_t>(row.cfa_offset)) : std::nullopt;
  }

  // The value that lies at a place. None if it is lost, or stays in a register that is not
  // named.
  std::optional<uint64_t> value_of(const CallerRegister& found) {
    switch (found.kind) {
      case CallerRegister::Kind::kInRegister:
        return state_.register_value(found.value);
      case CallerRegister::Kind::kOnStack:
        return state_.word_at(found.value);
      case CallerRegister::Kind::kValue:
        return found.value;
      default:
        return std::nullopt;
    }
  }

  const FrameColumns& columns_;
  ByteOrder order_;
  State state_;
};

}  // namespace

std::optional<CallerFrame> CallFrames::evaluate(ImageAddress address,
                                                MachineState& state) const {
  auto found = find_row(address);
  return found ? RowEvaluation(columns_, image_.order, address, state)
                     .evaluate(found->row, found->entry.setup.return_column)
               : std::nullopt;
}

// One more column is read in the same run of the program, because a row keeps the rules of the
// columns that every walk needs and no others.
CallerRegister CallFrames::caller_register(ImageAddress address, uint64_t number, uint64_t cfa,
                                           MachineState& state) const {
  auto found = find_row(address, number);
  if (!found)
    return {};
  // Without a rule the caller's stack pointer is the CFA.
  if (number == columns_.stack_pointer && found->row.wanted.kind == Kind::kUnset)
    return {CallerRegister::Kind::kValue, cfa};
  return RowEvaluation(columns_, image_.order, address, state).locate(found->row.wanted, cfa);
}

}  // namespace gosym::dwarf
