#include "elf/relocations.h"

#include "base/reader.h"

// The dynamic section tells where the tables are; each entry of the two kinds that put
// pointers into data is applied as the dynamic linker would at load address 0. All addresses
// of the file go through loaded_from(), which answers only for bytes that are there, so that a
// damaged table changes at most words of the private copy.

namespace gosym::elf {

namespace {

// The numbers of the two kinds, by the psABI of each machine.
struct MachineTypes {
  uint16_t machine;
  uint32_t relative;
  uint32_t symbol;
};
constexpr MachineTypes kRelocationTypes[] = {
    {EM_X86_64, R_X86_64_RELATIVE, R_X86_64_64},
    {EM_AARCH64, R_AARCH64_RELATIVE, R_AARCH64_ABS64},
    {EM_386, R_386_RELATIVE, R_386_32},
    {EM_ARM, R_ARM_RELATIVE, R_ARM_ABS32},
    {EM_PPC64, R_PPC64_RELATIVE, R_PPC64_ADDR64},
    {EM_S390, R_390_RELATIVE, R_390_64},
    {EM_RISCV, R_RISCV_RELATIVE, R_RISCV_64},
    {258 /* EM_LOONGARCH */, 3 /* R_LARCH_RELATIVE */, 2 /* R_LARCH_64 */},
};

struct Dynamic {
  uint64_t rela = 0;
  uint64_t rela_size = 0;
  uint64_t rel = 0;
  uint64_t rel_size = 0;
  uint64_t symbols = 0;
};

struct Relocation {
  ImageAddress address{};
  uint32_t type = 0;
  uint32_t symbol = 0;
  uint64_t addend = 0;
};

// Reads pairs of words, a tag and its value. 0 stands for what is not there.
Dynamic read_dynamic(const Image& image) {
  Dynamic dynamic;
  for (const Segment& segment : image.segments) {
    if (segment.type != PT_DYNAMIC)
      continue;
    Reader in(slice(image.file, segment.offset, segment.file_size).value_or(Bytes{}),
              image.order);
    // A tag that is there twice takes its last value, as in ld.so.
    while (in.remaining() > 0) {
      uint64_t tag = in.word(image.pointer_size);
      uint64_t value = in.word(image.pointer_size);
      if (!in.ok() || tag == DT_NULL)
        break;
      switch (tag) {
        case DT_RELA:
          dynamic.rela = value;
          break;
        case DT_RELASZ:
          dynamic.rela_size = value;
          break;
        case DT_REL:
          dynamic.rel = value;
          break;
        case DT_RELSZ:
          dynamic.rel_size = value;
          break;
        case DT_SYMTAB:
          dynamic.symbols = value;
          break;
        default:
          break;
      }
    }
  }
  return dynamic;
}

// Value of symbol `index`; none if it is undefined: then another image has it.
std::optional<uint64_t> symbol_value(const Image& image, const Dynamic& dynamic,
                                     uint32_t index) {
  bool is_64 = image.pointer_size == 8;
  uint64_t entry_size = is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
  auto bytes = image.loaded_from(ImageAddress{dynamic.symbols + index * entry_size});
  if (index == 0 || !bytes)
    // Entry 0 is no symbol, though its value reads as 0.
    return std::nullopt;
  Reader in(*bytes, image.order);
  in.bytes(is_64 ? offsetof(Elf64_Sym, st_shndx) : offsetof(Elf32_Sym, st_shndx));
  bool is_defined = in.u16() != SHN_UNDEF;
  uint64_t offset = is_64 ? offsetof(Elf64_Sym, st_value) : offsetof(Elf32_Sym, st_value);
  Reader value_in(tail(*bytes, offset), image.order);
  uint64_t value = value_in.word(image.pointer_size);
  // The two readers start at the beginning of the entry, since the fields come in another
  // order in the two classes.
  if (!in.ok() || !value_in.ok() || !is_defined)
    return std::nullopt;
  return value;
}

// Writes a word over the one at `address`. False if it is the same.
bool patch(const Image& image, std::span<std::byte> file, ImageAddress address,
           uint64_t value) {
  // The comparison comes first: a page of a private mapping is copied by the first write to
  // it.
  auto old = image.load_word(address);
  if (image.pointer_size == 4)
    value &= UINT32_MAX;
  if (!old || *old == value)
    return false;
  // The word is known to be in the file, as load_word() has found it there.
  auto offset = static_cast<size_t>(image.loaded_from(address)->data() - image.file.data());
  for (size_t i = 0; i < image.pointer_size; i++) {
    size_t shift = 8 * (image.order == ByteOrder::kLittle ? i : image.pointer_size - 1 - i);
    file[offset + i] = static_cast<std::byte>(value >> shift);
  }
  return true;
}

Relocation read_relocation(const Image& image, Reader& in, bool has_addend) {
  Relocation relocation;
  relocation.address = ImageAddress{in.word(image.pointer_size)};
  uint64_t info = in.word(image.pointer_size);
  bool is_64 = image.pointer_size == 8;
  relocation.type = static_cast<uint32_t>(is_64 ? ELF64_R_TYPE(info) : ELF32_R_TYPE(info));
  relocation.symbol = static_cast<uint32_t>(is_64 ? ELF64_R_SYM(info) : ELF32_R_SYM(info));
  relocation.addend = has_addend ? in.word(image.pointer_size)
                                 : image.load_word(relocation.address).value_or(0);
  return relocation;
}

// Applies the table of DT_RELA, whose entries have an addend, or else that of DT_REL. True if a
// word was changed.
bool apply(const Image& image, std::span<std::byte> file, const MachineTypes& types,
           const Dynamic& dynamic, bool has_addend) {
  uint64_t table = has_addend ? dynamic.rela : dynamic.rel;
  uint64_t size = has_addend ? dynamic.rela_size : dynamic.rel_size;
  auto bytes = image.loaded_from(ImageAddress{table});
  if (!bytes)
    return false;
  bool has_changed = false;
  // The table is cut to the bytes of its segment.
  Reader in(bytes->first(std::min<uint64_t>(size, bytes->size())), image.order);
  uint64_t entry_size = uint64_t{has_addend ? 3u : 2u} * image.pointer_size;
  while (in.remaining() >= entry_size) {
    Relocation relocation = read_relocation(image, in, has_addend);
    if (relocation.type == types.relative) {
      has_changed |= patch(image, file, relocation.address, relocation.addend);
    } else if (relocation.type == types.symbol) {
      if (auto value = symbol_value(image, dynamic, relocation.symbol))
        has_changed |= patch(image, file, relocation.address, *value + relocation.addend);
    }
  }
  return has_changed;
}

}  // namespace

bool relocate(const Image& image, std::span<std::byte> file) {
  // Programs that are loaded where they were linked have their pointers in place. Bytes that
  // are not those of the image are left alone.
  if (image.type != ET_DYN || file.data() != image.file.data() ||
      file.size() != image.file.size())
    return false;
  const auto* types =
      std::ranges::find(kRelocationTypes, image.machine, &MachineTypes::machine);
  if (types == std::end(kRelocationTypes))
    return false;
  Dynamic dynamic = read_dynamic(image);
  // Both tables are applied, whatever the machine usually has. The first result is kept aside
  // because `||` would leave out the second call.
  bool has_changed = apply(image, file, *types, dynamic, /*has_addend=*/true);
  return apply(image, file, *types, dynamic, /*has_addend=*/false) || has_changed;
}

}  // namespace gosym::elf
