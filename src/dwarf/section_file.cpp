#include "dwarf/section_file.h"

#include <cstring>

namespace gosym::dwarf {

namespace {

// All parts begin at multiples of 8 bytes: the table of sections has words of that size.
constexpr uint64_t aligned(uint64_t offset) {
  return (offset + 7) / 8 * 8;
}

template <class T>
void put(T& field, uint64_t value, ByteOrder order) {
  T narrow = static_cast<T>(value);
  field = order == ByteOrder::kLittle ? narrow : byte_swap(narrow);
}

// The header of another file, but for what says where the tables lie.
template <class Header, class Entry>
void write_header(const elf::Image& like, uint64_t table, size_t count, std::byte* to) {
  Header header{};
  // The file has a whole header, as elf::parse() took it. Class, byte order, machine and type
  // are right as they are. Segments are left out: the file has none of the program's contents
  // that they could name.
  std::memcpy(&header, like.file.data(), sizeof(header));
  put(header.e_phoff, 0, like.order);
  put(header.e_phnum, 0, like.order);
  put(header.e_shoff, table, like.order);
  put(header.e_shentsize, sizeof(Entry), like.order);
  put(header.e_shnum, count, like.order);
  put(header.e_shstrndx, count - 1, like.order);
  std::memcpy(to, &header, sizeof(header));
}

template <class Entry>
void write_entry(uint32_t name, uint32_t type, uint64_t offset, uint64_t size, ByteOrder order,
                 std::byte* to) {
  Entry entry{};
  put(entry.sh_name, name, order);
  put(entry.sh_type, type, order);
  put(entry.sh_offset, offset, order);
  put(entry.sh_size, size, order);
  put(entry.sh_addralign, 1, order);
  std::memcpy(to, &entry, sizeof(entry));
}

}  // namespace

void SectionFile::add(std::string_view name, uint64_t size) {
  sections_.push_back({.name = static_cast<uint32_t>(names_.size()), .size = size});
  names_.append(name).push_back('\0');
}

void SectionFile::finish() {
  // The section of names comes last, and the loop below places it as any other.
  bool is_64 = like_.pointer_size == 8;
  add(".shstrtab", 0);
  sections_.back().size = names_.size();
  uint64_t end = is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
  for (Section& section : sections_) {
    section.offset = aligned(end);
    end = section.offset + section.size;
  }
  table_ = aligned(end);
  size_ = table_ + (is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) * (sections_.size() + 1);
  // The contents are left unwritten, since all callers fill them or point libelf elsewhere.
  bytes_ = std::make_unique_for_overwrite<std::byte[]>(size_);
  std::memcpy(contents(sections_.size() - 1), names_.data(), names_.size());
  if (is_64)
    write_tables<Elf64_Ehdr, Elf64_Shdr>();
  else
    write_tables<Elf32_Ehdr, Elf32_Shdr>();
}

template <class Header, class Entry>
void SectionFile::write_tables() {
  write_header<Header, Entry>(like_, table_, sections_.size() + 1, bytes_.get());
  std::byte* next = bytes_.get() + table_;
  // Entry 0 is no section, and all zero.
  std::memset(next, 0, sizeof(Entry));
  for (const Section& section : sections_) {
    bool is_last = &section == &sections_.back();
    write_entry<Entry>(section.name, is_last ? SHT_STRTAB : SHT_PROGBITS, section.offset,
                       section.size, like_.order, next += sizeof(Entry));
  }
}

}  // namespace gosym::dwarf
