#include "dwarf/plain_file.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/reader.h"
#include "base/text.h"

namespace gosym::dwarf {

namespace {

// The most that the sections may unpack to: all of them a few times what the largest programs
// have, and each so many times its size.
constexpr uint64_t kMaxUnpacked = uint64_t{4} << 30;
constexpr uint64_t kMaxRatio = 64;

constexpr uint32_t kZlib = 1;  // ELFCOMPRESS_ZLIB
constexpr uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD, which glibc 2.36 does not know

// The sections .debug_* that are read, by what libdw asks of them.
constexpr auto kRead =
    std::to_array<std::string_view>({"abbrev", "addr", "info", "line", "line_str", "ranges",
                                     "rnglists", "str", "str_offsets", "types"});

constexpr std::string_view kPlain = ".debug_";
constexpr std::string_view kPacked = ".zdebug_";

// A section as it lies in the file.
struct Stored {
  std::string name;      // that of the plain section
  uint32_t packing = 0;  // 0: none
  Bytes bytes;
  uint64_t size = 0;    // unpacked
  uint64_t offset = 0;  // in the file that is made
};

bool is_packed(const elf::Section& section) {
  return (section.flags & SHF_COMPRESSED) != 0 || section.name.starts_with(kPacked);
}

bool is_of_debugging(const elf::Section& section) {
  return section.type != SHT_NOBITS &&
         (section.name.starts_with(kPlain) || section.name.starts_with(kPacked));
}

Result<Stored> find_stored(const elf::Image& image, const elf::Section& section) {
  bool is_old = section.name.starts_with(kPacked);
  std::string_view last = section.name.substr((is_old ? kPacked : kPlain).size());
  Stored stored = {.name = std::string(kPlain).append(last),
                   .bytes = slice(image.file, section.offset, section.size).value_or(Bytes{})};
  stored.size = stored.bytes.size();
  Reader in(stored.bytes, image.order);
  if ((section.flags & SHF_COMPRESSED) != 0) {
    stored.packing = in.u32();
    in.bytes(image.pointer_size - 4);
    stored.size = in.word(image.pointer_size);
    in.word(image.pointer_size);
    if (!in.ok() || (stored.packing != kZlib && stored.packing != kZstd))
      return errorf("{}: packed in a way that is not known (type {})", printable(stored.name),
                    stored.packing);
  } else if (is_old) {
    stored.packing = kZlib;
    in.bytes(4);
    stored.size = load<uint64_t>(stored.bytes, 4, ByteOrder::kBig).value_or(0);
    in.bytes(8);
  }
  stored.bytes = tail(stored.bytes, in.offset());
  if (stored.size > kMaxUnpacked || stored.size / kMaxRatio > stored.bytes.size())
    return errorf("{}: {} bytes are said to unpack to {}", printable(stored.name),
                  stored.bytes.size(), stored.size);
  return stored;
}

Result<> unpack(const Stored& stored, std::byte* to) {
  size_t size = 0;
  bool is_whole = false;
  if (stored.packing == kZstd) {
    size = ZSTD_decompress(to, stored.size, stored.bytes.data(), stored.bytes.size());
    is_whole = ZSTD_isError(size) == 0;
  } else if (stored.packing == kZlib) {
    uLongf made = stored.size;
    is_whole = uncompress(reinterpret_cast<Bytef*>(to), &made,
                          reinterpret_cast<const Bytef*>(stored.bytes.data()),
                          stored.bytes.size()) == Z_OK;
    size = made;
  } else {
    std::ranges::copy(stored.bytes, to);
    return Ok{};
  }
  return is_whole && size == stored.size
             ? Result<>(Ok{})
             : errorf("{}: damaged, it cannot be unpacked", printable(stored.name));
}

// The layout of the file that is made: the ELF header, the sections, their names, the table
// of sections.
struct Layout {
  std::string names = std::string(1, '\0');
  std::vector<uint32_t> name_offsets;
  uint64_t names_offset = 0;
  uint64_t table = 0;
  uint64_t size = 0;
};

constexpr std::string_view kNamesSection = ".shstrtab";

uint64_t header_size(const elf::Image& image) {
  return image.pointer_size == 8 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
}
uint64_t entry_size(const elf::Image& image) {
  return image.pointer_size == 8 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}
constexpr uint64_t aligned(uint64_t offset) {
  return (offset + 7) / 8 * 8;
}

Layout lay_out(const elf::Image& image, std::vector<Stored>& sections) {
  Layout layout;
  uint64_t end = header_size(image);
  auto add_name = [&](std::string_view name) {
    layout.name_offsets.push_back(static_cast<uint32_t>(layout.names.size()));
    layout.names.append(name).push_back('\0');
  };
  for (Stored& section : sections) {
    section.offset = aligned(end);
    end = section.offset + section.size;
    add_name(section.name);
  }
  add_name(kNamesSection);
  layout.names_offset = end;
  layout.table = aligned(end + layout.names.size());
  layout.size = layout.table + entry_size(image) * (sections.size() + 2);
  return layout;
}

template <class T>
void put(T& field, uint64_t value, ByteOrder order) {
  T narrow = static_cast<T>(value);
  field = order == ByteOrder::kLittle ? narrow : byte_swap(narrow);
}

// The header of the file, but for what says where its tables lie.
template <class Header, class Entry>
void write_header(const elf::Image& image, const Layout& layout, size_t count, std::byte* to) {
  Header header{};
  std::memcpy(&header, image.file.data(), sizeof(header));
  put(header.e_phoff, 0, image.order);
  put(header.e_phnum, 0, image.order);
  put(header.e_shoff, layout.table, image.order);
  put(header.e_shentsize, sizeof(Entry), image.order);
  put(header.e_shnum, count, image.order);
  put(header.e_shstrndx, count - 1, image.order);
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

template <class Header, class Entry>
void write_tables(const elf::Image& image, const Layout& layout,
                  std::span<const Stored> sections, std::byte* file) {
  write_header<Header, Entry>(image, layout, sections.size() + 2, file);
  std::byte* next = file + layout.table;
  std::memset(next, 0, sizeof(Entry));
  for (size_t i = 0; i < sections.size(); i++)
    write_entry<Entry>(layout.name_offsets[i], SHT_PROGBITS, sections[i].offset,
                       sections[i].size, image.order, next += sizeof(Entry));
  write_entry<Entry>(layout.name_offsets.back(), SHT_STRTAB, layout.names_offset,
                     layout.names.size(), image.order, next + sizeof(Entry));
  std::memcpy(file + layout.names_offset, layout.names.data(), layout.names.size());
}

// Each once: of two with one name the first counts.
Result<std::vector<Stored>> read_sections_of(const elf::Image& image) {
  std::vector<Stored> sections;
  for (const elf::Section& section : image.sections) {
    if (!is_of_debugging(section))
      continue;
    std::string_view last = section.name.substr(section.name.find('_') + 1);
    bool is_wanted = std::ranges::binary_search(kRead, last);
    bool is_known = std::ranges::any_of(sections, [&](const Stored& known) {
      return known.name.substr(kPlain.size()) == last;
    });
    if (!is_wanted || is_known)
      continue;
    auto stored = find_stored(image, section);
    if (!stored)
      return std::move(stored).error();
    sections.push_back(*std::move(stored));
  }
  return sections;
}

}  // namespace

Result<PlainFile> PlainFile::make(const elf::Image& image) {
  auto sections = read_sections_of(image);
  if (!sections)
    return std::move(sections).error();
  PlainFile file;
  file.file_ = image.file;
  for (const Stored& section : *sections)
    file.debug_size_ += section.size;
  if (file.debug_size_ > kMaxUnpacked)
    return errorf("its debugging information is said to unpack to {} bytes", file.debug_size_);
  bool has_packed = std::ranges::any_of(image.sections, [](const elf::Section& section) {
    return is_of_debugging(section) && is_packed(section);
  });
  if (!has_packed)
    return file;
  Layout layout = lay_out(image, *sections);
  file.unpacked_ = std::make_unique_for_overwrite<std::byte[]>(layout.size);
  for (const Stored& section : *sections)
    if (auto done = unpack(section, file.unpacked_.get() + section.offset); !done)
      return std::move(done).error();
  if (image.pointer_size == 8)
    write_tables<Elf64_Ehdr, Elf64_Shdr>(image, layout, *sections, file.unpacked_.get());
  else
    write_tables<Elf32_Ehdr, Elf32_Shdr>(image, layout, *sections, file.unpacked_.get());
  file.file_ = {file.unpacked_.get(), layout.size};
  return file;
}

}  // namespace gosym::dwarf
