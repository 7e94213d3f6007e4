#include "dwarf/frame_table.h"

#include <dwarf.h>

#include <algorithm>

// Two ways to find the entry of an address, behind one class. A table that was read whole has
// the begin of each function and the offset of its entry, sorted; one with .eh_frame_hdr
// searches that in place and reads nothing before it is asked. Both keep offsets only: an
// entry is decoded anew each time that it is looked up.

namespace gosym::dwarf {

namespace {

constexpr uint8_t kFormMask = 0x0f;
constexpr uint8_t kBaseMask = 0xf0;  // what is to be added, and whether to look it up

constexpr uint64_t kHeaderEntrySize = 8;  // of .eh_frame_hdr

// The number alone, without what is to be added to it. None for a form that is not known.
std::optional<uint64_t> read_form(Reader& in, uint8_t encoding, uint8_t pointer_size) {
  auto extend = [](auto value) { return static_cast<uint64_t>(int64_t{value}); };
  switch (encoding & kFormMask) {
    case DW_EH_PE_absptr:
      return in.word(pointer_size);
    case DW_EH_PE_uleb128:
      return in.uvarint64();
    case DW_EH_PE_udata2:
      return in.u16();
    case DW_EH_PE_udata4:
      return in.u32();
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return in.u64();
    case DW_EH_PE_sleb128:
      return extend(in.svarint64());
    case DW_EH_PE_sdata2:
      return extend(static_cast<int16_t>(in.u16()));
    case DW_EH_PE_sdata4:
      return extend(static_cast<int32_t>(in.u32()));
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<uint64_t> read_encoded(Reader& in, uint8_t encoding, uint8_t pointer_size,
                                     ImageAddress start) {
  // The place itself is asked for before the value is read: a relative address counts from its
  // own first byte.
  uint64_t base = 0;
  switch (encoding & kBaseMask) {
    case DW_EH_PE_absptr:
      break;
    case DW_EH_PE_pcrel:
      base = to_integer(start) + in.offset();
      break;
    case DW_EH_PE_datarel:
      base = to_integer(start);
      break;
    default:
      return std::nullopt;
  }
  auto value = read_form(in, encoding, pointer_size);
  if (!value || !in.ok())
    return std::nullopt;
  // Sums wrap around in the width of the machine's addresses: negative distances rely on that.
  return (base + *value) & (pointer_size == 4 ? UINT32_MAX : UINT64_MAX);
}

namespace {

// The beginning that CIE and FDE have in common.
struct Head {
  Reader body;         // behind the id, up to the end of the entry
  uint64_t end = 0;    // offset of the next entry
  uint64_t setup = 0;  // offset of the common entry of a function
  bool is_common = false;
};

// None where no whole entry lies, as behind the end of the section.
std::optional<Head> read_head(const FrameSection& section, uint64_t offset) {
  Reader in(section.bytes, section.order);
  in.bytes(offset);
  uint64_t length = in.u32();
  bool is_long = length == UINT32_MAX;
  if (is_long)
    length = in.u64();
  // In .eh_frame a length of 0 ends the section; in .debug_frame it is an empty entry.
  if (!in.ok() || length > in.remaining() || (length == 0 && !section.is_debug_frame))
    return std::nullopt;

  uint64_t id_offset = in.offset();
  Head head{.body = Reader(section.bytes.first(id_offset + length), section.order),
            .end = id_offset + length};
  head.body.bytes(id_offset);
  // The two sections tell their CIE in different ways: .debug_frame by its offset, .eh_frame by
  // the distance back from here, where 0 is no distance but marks a CIE.
  if (section.is_debug_frame) {
    head.setup = is_long ? head.body.u64() : head.body.u32();
    head.is_common = head.setup == (is_long ? UINT64_MAX : UINT32_MAX);
  } else {
    uint64_t distance = head.body.u32();
    // A distance that is too long wraps around, to where no common entry is found.
    head.setup = id_offset - distance;
    head.is_common = distance == 0;
  }
  return head;
}

// The part of the augmentation data that a letter stands for. False for letters that are not
// known: whether they have a part is not known either.
bool read_augmentation(Reader& in, char letter, FrameSetup& setup) {
  switch (letter) {
    case 'z':
      setup.has_augmentation_size = true;
      in.uvarint64();  // of use only to skip all parts: here each is read
      return true;
    case 'R':
      setup.encoding = in.u8();
      return true;
    // Only the form matters here: the address of the routine is skipped, and so is what it
    // would be relative to.
    case 'P': {
      uint8_t encoding = in.u8();
      return read_form(in, encoding, setup.pointer_size).has_value();
    }
    case 'L':
      in.u8();
      return true;
    case 'S':
      setup.is_signal_frame = true;
      return true;
    default:
      return letter == 'B' || letter == 'G';
  }
}

// Reads a common entry from behind its id on. None if it is damaged, or of a kind that is not
// known; its functions are left out then.
std::optional<FrameSetup> read_setup(const FrameSection& section, Reader in) {
  FrameSetup setup{.pointer_size = section.pointer_size};
  uint8_t version = in.u8();
  std::string_view augmentation = in.cstring();
  if (version == 4) {
    setup.pointer_size = in.u8();
    if (in.u8() != 0 || (setup.pointer_size != 4 && setup.pointer_size != 8))
      return std::nullopt;
  } else if (version != 1 && version != 3) {
    return std::nullopt;
  }
  setup.code_alignment = in.uvarint64();
  setup.data_alignment = in.svarint64();
  setup.return_column = version == 1 ? in.u8() : in.uvarint64();

  // A letter that is not known fails the entry. Without z nothing tells where the instructions
  // begin; with it the letter may still change what is said of the functions, as S and R do.
  for (char letter : augmentation)
    if (!read_augmentation(in, letter, setup))
      return std::nullopt;
  setup.instructions = in.bytes(in.remaining());
  // Such addresses count from a base that the program has at run time.
  bool is_relative_to_data = (setup.encoding & kBaseMask) == DW_EH_PE_datarel;
  return in.ok() && !is_relative_to_data ? std::optional(setup) : std::nullopt;
}

}  // namespace

std::optional<FrameHeader> FrameHeader::read(Bytes bytes, ImageAddress address, ByteOrder order,
                                             uint8_t pointer_size) {
  constexpr uint8_t kUsualTable = DW_EH_PE_datarel | DW_EH_PE_sdata4;
  Reader in(bytes, order);
  uint8_t version = in.u8();
  uint8_t start_encoding = in.u8();
  uint8_t count_encoding = in.u8();
  uint8_t table_encoding = in.u8();
  auto start = read_encoded(in, start_encoding, pointer_size, address);
  if (version != 1 || !start)
    return std::nullopt;
  FrameHeader header{.address = address, .eh_frame = ImageAddress{*start}};
  // A table in another encoding, or longer than the bytes, is as good as none: .eh_frame can
  // still be read from its start.
  auto count = read_encoded(in, count_encoding, pointer_size, address);
  if (count && table_encoding == kUsualTable && *count <= in.remaining() / kHeaderEntrySize)
    header.entries = in.bytes(*count * kHeaderEntrySize);
  return header;
}

std::optional<uint64_t> FrameHeader::find(uint64_t wanted, ByteOrder order) const {
  // read() takes whole entries, so that load() finds the bytes of each: the 0 is never taken.
  auto number = [&](uint64_t offset) {
    auto distance = static_cast<int32_t>(load<uint32_t>(entries, offset, order).value_or(0));
    return to_integer(address) + static_cast<uint64_t>(int64_t{distance});
  };
  uint64_t begin = 0;  // the entry is before `end`, and not before `begin`
  uint64_t end = entries.size() / kHeaderEntrySize;
  while (end - begin > 1) {
    uint64_t middle = begin + (end - begin) / 2;
    (number(middle * kHeaderEntrySize) <= wanted ? begin : end) = middle;
  }
  // The first entry may begin behind the address as well.
  bool is_found = end > 0 && number(begin * kHeaderEntrySize) <= wanted;
  return is_found ? std::optional(number(begin * kHeaderEntrySize + 4)) : std::nullopt;
}

FrameTable::FrameTable(const FrameSection& section, const FrameHeader& header)
    : section_(section), header_(header) {}

FrameTable::FrameTable(const FrameSection& section) : section_(section) {
  uint64_t offset = 0;
  while (auto head = read_head(section_, offset)) {
    // A common entry comes before the functions that name it in what assemblers write: a
    // function met before it has no setup and is left out.
    if (!head->is_common) {
      // A function that the linker has discarded keeps its entry, at address 0.
      if (auto function = read_function(offset); function && function->begin != 0)
        places_.push_back({function->begin, offset});
    } else if (auto setup = read_setup(section_, head->body)) {
      setups_.emplace(offset, *setup);
    }
    // The next entry is found by the length alone, so that a bad one costs only itself.
    offset = head->end;
  }
  // The order of the file stays among functions of one address: a look-up takes the last.
  std::ranges::stable_sort(places_, {}, &Place::begin);
  places_.shrink_to_fit();
}

// With a header nothing was read in advance: the common entry is read for each look-up.
std::optional<FrameSetup> FrameTable::setup_at(uint64_t offset) const {
  if (auto known = setups_.find(offset); known != setups_.end())
    return known->second;
  auto head = header_.entries.empty() ? std::nullopt : read_head(section_, offset);
  return head && head->is_common ? read_setup(section_, head->body) : std::nullopt;
}

std::optional<FrameEntry> FrameTable::read_function(uint64_t offset) const {
  auto head = read_head(section_, offset);
  auto setup = head && !head->is_common ? setup_at(head->setup) : std::nullopt;
  if (!setup)
    return std::nullopt;
  FrameEntry entry{.setup = *setup};
  uint8_t pointer_size = setup->pointer_size;
  uint8_t encoding = setup->encoding;

  Reader& in = head->body;
  auto begin = read_encoded(in, encoding, pointer_size, section_.address);
  // The size has the form of an address, but is relative to nothing.
  auto size = read_encoded(in, encoding & kFormMask, pointer_size, {});
  if (!begin || !size || *size > UINT64_MAX - *begin)
    return std::nullopt;
  entry.begin = *begin;
  entry.end = *begin + *size;

  // The size is skipped over rather than the parts: letters of the common entry may be of data
  // for exception handlers, whose layout is their own business.
  if (setup->has_augmentation_size)
    in.bytes(in.uvarint64());
  entry.instructions = in.bytes(in.remaining());
  return in.ok() ? std::optional(entry) : std::nullopt;
}

std::optional<uint64_t> FrameTable::offset_of(uint64_t address) const {
  if (!header_.entries.empty()) {
    // An entry that lies outside of the section gets an offset that read_head() refuses.
    auto entry = header_.find(address, section_.order);
    return entry ? std::optional(*entry - to_integer(section_.address)) : std::nullopt;
  }
  auto place = std::ranges::upper_bound(places_, address, {}, &Place::begin);
  return place == places_.begin() ? std::nullopt : std::optional(std::prev(place)->offset);
}

bool FrameTable::is_one_piece(ImageAddress begin, ImageAddress address) const {
  // Functions of a sound table do not overlap, so that the last one that begins at or before
  // the address is the only one that could end in between.
  auto offset = offset_of(to_integer(address));
  auto last = offset ? read_function(*offset) : std::nullopt;
  if (!last)
    return true;
  bool holds_address = to_integer(address) < last->end;
  return holds_address ? last->begin <= to_integer(begin) : last->end <= to_integer(begin);
}

std::vector<FrameEntry> FrameTable::functions() const {
  std::vector<FrameEntry> functions;
  for (const Place& place : places_)
    if (auto entry = read_function(place.offset); entry && entry->begin < entry->end)
      functions.push_back(*entry);
  return functions;
}

std::optional<FrameEntry> FrameTable::find(ImageAddress address) const {
  uint64_t at = to_integer(address);
  auto offset = offset_of(at);
  auto entry = offset ? read_function(*offset) : std::nullopt;
  return entry && at >= entry->begin && at < entry->end ? entry : std::nullopt;
}

}  // namespace gosym::dwarf
