#include "dwarf/call_frames.h"

#include "dwarf/frame_expression.h"

namespace gosym::dwarf {

namespace {

using Kind = ColumnRule::Kind;

// From the System V ABI of each machine. That of i386 numbers its registers in .eh_frame so.
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

// Where .eh_frame lies, in a file without sections:
//
//   .eh_frame_hdr = u8 version 1, u8 encodings of the start of .eh_frame, of the number of
//                   functions and of the table of them; start of .eh_frame, ...
std::optional<ImageAddress> find_eh_frame(const elf::Image& image) {
  for (const elf::Segment& segment : image.segments) {
    auto header = image.loaded_from(segment.address);
    if (segment.type != PT_GNU_EH_FRAME || !header)
      continue;
    Reader in(*header, image.order);
    uint8_t version = in.u8();
    uint8_t encoding = in.u8();
    in.u16();
    auto start = read_encoded(in, encoding, image.pointer_size, segment.address);
    if (version == 1 && start)
      return ImageAddress{*start};
  }
  return std::nullopt;
}

FrameSection eh_frame(const elf::Image& image) {
  FrameSection result{.order = image.order, .pointer_size = image.pointer_size};
  if (const elf::Section* section = image.find_section(".eh_frame")) {
    result.address = section->address;
    result.bytes = image.contents(*section).value_or(Bytes{});
  } else if (auto address = find_eh_frame(image)) {
    result.address = *address;
    result.bytes = image.loaded_from(*address).value_or(Bytes{});
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

namespace {

std::optional<StackPlace> place(std::optional<Anchor> anchor, int64_t offset) {
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

bool Reduction::set_cfa(const FrameRow& row, UnwindRule& rule) const {
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

std::optional<StackPlace> Reduction::place_of(const ColumnRule& column) const {
  if (column.kind == Kind::kOffset)
    return place(Anchor::kCfa, column.value);
  if (column.kind != Kind::kExpression)
    return std::nullopt;
  auto value = evaluate(column.expression, Anchor::kCfa);
  return value && !value->is_loaded ? place(value->anchor, value->offset) : std::nullopt;
}

// Whether the stack pointer of the caller is the CFA. In signal frames it is said outright.
bool Reduction::is_cfa(const ColumnRule& stack_pointer, const UnwindRule& rule) const {
  if (stack_pointer.kind == Kind::kUnset)
    return true;
  if (stack_pointer.kind == Kind::kValue)
    return stack_pointer.value == 0;
  return rule.is_cfa_loaded && place_of(stack_pointer) == rule.cfa;
}

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
  rule.return_kind = ReturnAddress::kInRegister;
  if (column.kind == Kind::kRegister)
    return has_link && static_cast<uint64_t>(column.value) == columns_.link;
  return has_link && (column.kind == Kind::kUnset || column.kind == Kind::kSame);
}

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

std::optional<UnwindRule> CallFrames::find(ImageAddress address) const {
  for (const FrameTable& table : tables_) {
    auto entry = table.find(address);
    if (!entry)
      continue;
    auto row = find_row(*entry, columns_, image_.order, address);
    auto rule = row ? Reduction(columns_, image_.order, address).reduce(*row) : std::nullopt;
    if (rule)
      rule->is_signal_frame = entry->setup->is_signal_frame;
    return rule;
  }
  return std::nullopt;
}

}  // namespace gosym::dwarf
