#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace gosym {

// Appends integers as an image has them.
class ByteWriter {
public:
  explicit ByteWriter(ByteOrder order = ByteOrder::kLittle, uint8_t pointer_size = 8)
      : order_(order), pointer_size_(pointer_size) {}

  ByteWriter& u8(uint64_t value) { return integer(value, 1); }
  ByteWriter& u16(uint64_t value) { return integer(value, 2); }
  ByteWriter& u32(uint64_t value) { return integer(value, 4); }
  ByteWriter& u64(uint64_t value) { return integer(value, 8); }
  ByteWriter& word(uint64_t value) { return integer(value, pointer_size_); }
  ByteWriter& text(std::string_view value) {
    out += value;
    return *this;
  }
  ByteWriter& pad_to(size_t size) {
    out.resize(std::max(size, out.size()));
    return *this;
  }

  std::string out;

private:
  ByteWriter& integer(uint64_t value, int size) {
    for (int i = 0; i < size; i++) {
      int byte = order_ == ByteOrder::kLittle ? i : size - 1 - i;
      out += static_cast<char>(value >> (8 * byte));
    }
    return *this;
  }

  ByteOrder order_;
  uint8_t pointer_size_;
};

// Contents of an ELF file. Sections are laid out one after the other behind the headers;
// each may be loaded at an address, by a segment of its own.
struct ImageSpec {
  struct Part {
    std::string name;
    uint32_t type = SHT_PROGBITS;
    std::string contents;
    uint64_t address = 0;        // 0: not loaded
    uint32_t segment_flags = 0;  // PF_*
    uint32_t link = 0;           // number of another section; the first part is section 1
    uint64_t entry_size = 0;
    uint32_t segment_type = PT_LOAD;
    uint64_t flags = 0;  // SHF_*, besides those of what is loaded
  };
  ByteOrder order = ByteOrder::kLittle;
  uint8_t pointer_size = 8;
  uint16_t type = ET_EXEC;
  uint16_t machine = EM_X86_64;
  uint64_t entry = 0;
  std::vector<Part> parts;
};

inline std::string build_image(const ImageSpec& spec) {
  bool is_64 = spec.pointer_size == 8;
  size_t header_size = is_64 ? 64 : 52;
  size_t segment_size = is_64 ? 56 : 32;
  size_t section_size = is_64 ? 64 : 40;
  ByteWriter out(spec.order, spec.pointer_size);

  std::vector<ImageSpec::Part> parts = spec.parts;
  std::string names(1, '\0');
  std::vector<size_t> name_offsets;
  parts.push_back({.name = ".shstrtab", .type = SHT_STRTAB, .contents = {}});
  for (const auto& part : parts) {
    name_offsets.push_back(names.size());
    names += part.name + '\0';
  }
  parts.back().contents = names;

  size_t segment_count = 0;
  for (const auto& part : parts)
    segment_count += part.address != 0;
  std::vector<size_t> offsets;
  size_t offset = header_size + segment_count * segment_size;
  for (const auto& part : parts) {
    offset = (offset + 15) / 16 * 16;
    offsets.push_back(offset);
    offset += part.type == SHT_NOBITS ? 0 : part.contents.size();
  }
  size_t section_table = (offset + 7) / 8 * 8;

  out.text("\177ELF").u8(is_64 ? 2 : 1).u8(spec.order == ByteOrder::kLittle ? 1 : 2).u8(1);
  out.pad_to(16).u16(spec.type).u16(spec.machine).u32(1).word(spec.entry);
  out.word(segment_count == 0 ? 0 : header_size).word(section_table).u32(0).u16(header_size);
  out.u16(segment_size).u16(segment_count).u16(section_size).u16(parts.size() + 1);
  out.u16(parts.size());

  for (size_t i = 0; i < parts.size(); i++) {
    const auto& part = parts[i];
    if (part.address == 0)
      continue;
    out.u32(part.segment_type);
    if (is_64)
      out.u32(part.segment_flags);
    out.word(offsets[i]).word(part.address).word(part.address);
    out.word(part.type == SHT_NOBITS ? 0 : part.contents.size()).word(part.contents.size());
    if (!is_64)
      out.u32(part.segment_flags);
    out.word(16);
  }
  for (size_t i = 0; i < parts.size(); i++)
    if (parts[i].type != SHT_NOBITS)
      out.pad_to(offsets[i]).text(parts[i].contents);

  out.pad_to(section_table).pad_to(section_table + section_size);
  for (size_t i = 0; i < parts.size(); i++) {
    bool is_code = (parts[i].segment_flags & PF_X) != 0;
    out.u32(name_offsets[i]).u32(parts[i].type);
    out.word(parts[i].flags | (parts[i].address != 0 ? SHF_ALLOC : 0) |
             (is_code ? SHF_EXECINSTR : 0));
    out.word(parts[i].address).word(offsets[i]).word(parts[i].contents.size());
    out.u32(parts[i].link).u32(0).word(16).word(parts[i].entry_size);
  }
  return out.out;
}

// An entry of a symbol table.
struct SymbolSpec {
  uint32_t name = 0;  // offset in the string table
  uint8_t info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  uint16_t section = 1;
  uint64_t address = 0;
  uint64_t size = 0;
};

inline std::string build_symbols(const ImageSpec& spec,
                                 const std::vector<SymbolSpec>& symbols) {
  ByteWriter out(spec.order, spec.pointer_size);
  out.pad_to(spec.pointer_size == 8 ? 24 : 16);
  for (const SymbolSpec& symbol : symbols) {
    out.u32(symbol.name);
    if (spec.pointer_size == 4)
      out.u32(symbol.address).u32(symbol.size);
    out.u8(symbol.info).u8(0).u16(symbol.section);
    if (spec.pointer_size == 8)
      out.u64(symbol.address).u64(symbol.size);
  }
  return out.out;
}

inline std::string build_note(std::string_view name, uint32_t type,
                              std::string_view description,
                              ByteOrder order = ByteOrder::kLittle) {
  ByteWriter out(order);
  out.u32(name.size() + 1).u32(description.size()).u32(type).text(name).u8(0);
  out.pad_to((out.out.size() + 3) / 4 * 4).text(description);
  return out.pad_to((out.out.size() + 3) / 4 * 4).out;
}

}  // namespace gosym
