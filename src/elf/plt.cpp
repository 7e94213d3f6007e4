#include "elf/plt.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/reader.h"
#include "elf/symbol_table.h"

// Stubs have no symbols, so that three tables are brought together: the code gives the slot
// that a stub jumps through, the relocation of the slot gives a symbol or an address, and the
// symbol tables give the name. Each step keeps only what the next can use.

namespace gosym::elf {

namespace {

struct Stub : PltStub {
  uint64_t slot = 0;
};

struct SlotRelocation {
  uint64_t slot = 0;
  uint64_t symbol = 0;
  uint64_t addend = 0;
};

// The slot that the code at `address` jumps through; none if it is not the start of a stub.
using SlotReader = std::optional<uint64_t> (*)(Bytes code, uint64_t address);

// Reads a stub as plt.h has it: beyond the code load() gives none, which is no instruction.
std::optional<uint64_t> read_slot_x86_64(Bytes code, uint64_t address) {
  size_t at = 0;
  if (load<uint32_t>(code, at) == 0xfa1e0ff3)  // endbr64
    at += 4;
  if (load<uint16_t>(code, at) == 0xbb41)  // mov $index, %r11d
    at += 6;
  if (load<uint8_t>(code, at) == 0xf2)  // bnd
    at += 1;
  // The displacement counts from the end of the jump, whose opcode takes two bytes and the
  // displacement four.
  auto displacement = load<uint32_t>(code, at + 2);
  if (load<uint16_t>(code, at) != 0x25ff || !displacement)  // jmp *displacement(%rip)
    return std::nullopt;
  uint64_t next_instruction = address + at + 6;
  return next_instruction + static_cast<uint64_t>(static_cast<int32_t>(*displacement));
}

// Instructions are little endian whatever the data is.
std::optional<uint64_t> read_slot_aarch64(Bytes code, uint64_t address) {
  size_t at = 0;
  if (load<uint32_t>(code, at) == 0xd503245f)  // bti c
    at += 4;
  uint32_t adrp = load<uint32_t>(code, at).value_or(0);
  uint32_t ldr = load<uint32_t>(code, at + 4).value_or(0);
  // The masks leave out the address alone: adrp has to write x16, and ldr to load 64 bits from
  // there into x17.
  if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
    return std::nullopt;
  // 21 bits with a sign, the lower two of which are apart, count pages of 4 KiB.
  uint64_t pages = (adrp >> 3 & 0x1ffffc) | (adrp >> 29 & 3);
  uint64_t distance = ((pages ^ 0x100000) - 0x100000) << 12;
  // The offset in the page counts in words, as the load is of 64 bits.
  uint64_t words = ldr >> 10 & 0xfff;
  return (address & ~uint64_t{0xfff}) + distance + 8 * words;
}

struct Machine {
  uint16_t machine;
  size_t alignment;
  size_t max_size;
  SlotReader read_slot;
};
constexpr Machine kSlotMachines[] = {
    {EM_X86_64, 8, 16, read_slot_x86_64},
    {EM_AARCH64, 4, 24, read_slot_aarch64},
};

// Sections do not overlap: what is more than the file has is damage, and would cost its time
// again and again.
template <class Predicate>
std::vector<Section> choose_sections(const Image& image, Predicate is_wanted) {
  std::vector<Section> chosen;
  uint64_t room = image.file.size();
  for (const Section& section : image.sections) {
    if (!is_wanted(section) || section.size > room)
      continue;
    room -= section.size;
    chosen.push_back(section);
  }
  return chosen;
}

bool holds_stubs(const Section& section) {
  return (section.flags & SHF_EXECINSTR) != 0 &&
         (section.name.starts_with(".plt") || section.name.starts_with(".iplt"));
}

bool holds_relocations(const Section& section) {
  return section.type == SHT_RELA && (section.flags & SHF_ALLOC) != 0;
}

void find_stubs(const Image& image, const Section& section, const Machine& machine,
                std::vector<Stub>& stubs) {
  // A stub is not found again at its second instruction.
  constexpr size_t kMinSize = 8;
  Bytes code = image.contents(section).value_or(Bytes{});
  size_t first = stubs.size();
  size_t offset = 0;
  while (offset < code.size()) {
    uint64_t address = to_integer(section.address) + offset;
    auto slot = machine.read_slot(tail(code, offset), address);
    if (slot) {
      if (stubs.size() > first)
        // Stubs may lie closer than the largest kind, so each ends where the next begins.
        stubs.back().size =
            std::min(stubs.back().size, address - to_integer(stubs.back().address));
      uint64_t size = std::min(machine.max_size, code.size() - offset);
      // The last stub of a section may be followed by padding: no stub is larger than this.
      stubs.push_back({{ImageAddress{address}, size, {}}, *slot});
    }
    // A stub begins at a multiple of the machine's alignment.
    offset += slot ? kMinSize : machine.alignment;
  }
}

// Reads an entry of a section of type RELA: the caller has seen that it is all there.
SlotRelocation read_slot_relocation(Reader& in, const Image& image) {
  SlotRelocation relocation;
  relocation.slot = in.word(image.pointer_size);
  uint64_t info = in.word(image.pointer_size);
  relocation.symbol = image.pointer_size == 8 ? ELF64_R_SYM(info) : ELF32_R_SYM(info);
  relocation.addend = in.word(image.pointer_size);
  return relocation;
}

// Tells what a relocation stands for. Empty if it does not say, or once the names, which a file
// has once each, are longer than the file.
class Namer {
public:
  explicit Namer(const Image& image) : image_(image), room_(image.file.size()) {}

  std::string name(const Section& section, const SlotRelocation& relocation) {
    std::string text = relocation.symbol == 0 ? local_name(ImageAddress{relocation.addend})
                                              : imported_name(section, relocation.symbol);
    if (text.size() > room_)
      return {};
    room_ -= text.size();
    return text;
  }

private:
  std::string imported_name(const Section& section, uint64_t symbol) const {
    if (section.link == 0 || section.link > image_.sections.size())
      // `sections` leaves section 0 out, so that section N is entry N - 1.
      return {};
    const Section& symbols = image_.sections[section.link - 1];
    return std::string(symbol_name(image_, symbols, symbol).value_or(""));
  }

  std::string local_name(ImageAddress address) {
    if (!std::exchange(has_read_tables_, true))
      read_tables();
    for (const SymbolTable& table : tables_)
      // A function of the same address alone: one that merely holds the address is another's.
      if (auto function = table.find(address); function && function->address == address)
        return std::string(function->name);
    return fmt::format("*ABS*+{:#x}", to_integer(address));
  }

  void read_tables() {
    for (uint32_t type : {SHT_SYMTAB, SHT_DYNSYM})
      if (const Section* section = image_.find_section(type))
        tables_.push_back(SymbolTable::read(image_, *section));
  }

  const Image& image_;
  uint64_t room_;
  bool has_read_tables_ = false;  // most images do not need them for this
  std::vector<SymbolTable> tables_;
};

// `stubs` are sorted by slot.
void name_stubs(const Image& image, const Section& section, std::vector<Stub>& stubs,
                Namer& namer) {
  Reader in(image.contents(section).value_or(Bytes{}), image.order);
  while (in.remaining() >= size_t{3} * image.pointer_size) {
    SlotRelocation relocation = read_slot_relocation(in, image);
    auto stub = std::ranges::lower_bound(stubs, relocation.slot, {}, &Stub::slot);
    // The first name counts; a second relocation of a slot is damage.
    if (stub != stubs.end() && stub->slot == relocation.slot && stub->name.empty())
      if (std::string name = namer.name(section, relocation); !name.empty())
        stub->name = name + "@plt";
  }
}

}  // namespace

std::vector<PltStub> read_plt(const Image& image) {
  const auto* machine = std::ranges::find(kSlotMachines, image.machine, &Machine::machine);
  if (machine == std::end(kSlotMachines))
    return {};
  std::vector<Stub> stubs;
  for (const Section& section : choose_sections(image, holds_stubs))
    find_stubs(image, section, *machine, stubs);
  if (stubs.empty())
    return {};

  // Stubs are sorted by slot, by which name_stubs() finds them. A slot has one stub: of several
  // the first stays.
  std::ranges::stable_sort(stubs, {}, &Stub::slot);
  auto is_same = [](const Stub& a, const Stub& b) { return a.slot == b.slot; };
  stubs.erase(std::unique(stubs.begin(), stubs.end(), is_same), stubs.end());
  Namer namer(image);
  for (const Section& section : choose_sections(image, holds_relocations))
    name_stubs(image, section, stubs, namer);

  // Stubs that nothing names are left out; the code there keeps the name that others give it.
  std::vector<PltStub> named;
  for (Stub& stub : stubs)
    if (!stub.name.empty())
      named.push_back(std::move(stub));
  std::ranges::sort(named, {}, &PltStub::address);
  return named;
}

}  // namespace gosym::elf
