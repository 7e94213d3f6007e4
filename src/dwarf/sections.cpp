#include "dwarf/sections.h"

#include <fmt/core.h>
#include <gelf.h>

#include "base/reader.h"

namespace gosym::dwarf {

namespace {

// What the sections may unpack to: all of them a few times what the largest programs have, and
// each so many times its size. Debugging information packs to a tenth at the best.
constexpr uint64_t kMaxUnpacked = uint64_t{4} << 30;
constexpr uint64_t kMaxRatio = 64;

// The bytes of a section once it is unpacked: the header of a compressed one tells.
//
//   SHF_COMPRESSED:  u32 type, in 64-bit files u32 0, word size, word alignment
//   .zdebug_*:       "ZLIB", u64 size, big-endian
uint64_t unpacked_section_size(const elf::Image& image, const elf::Section& section) {
  Bytes bytes = slice(image.file, section.offset, section.size).value_or(Bytes{});
  if ((section.flags & SHF_COMPRESSED) != 0) {
    Reader in(bytes, image.order);
    in.bytes(image.pointer_size);
    return in.word(image.pointer_size);
  }
  if (section.name.find("zdebug_") != std::string_view::npos)
    return load<uint64_t>(bytes, 4, ByteOrder::kBig).value_or(0);
  return bytes.size();
}

}  // namespace

std::optional<uint64_t> unpacked_size(const elf::Image& image) {
  uint64_t total = 0;
  for (const elf::Section& section : image.sections) {
    // Also ".zdebug_info", ".debug_info.dwo" and ".gnu.debuglto_.debug_info".
    if (section.name.find("debug_") == std::string_view::npos)
      continue;
    uint64_t size = unpacked_section_size(image, section);
    if (size > kMaxUnpacked - total || size / kMaxRatio > section.size)
      return std::nullopt;
    total += size;
  }
  return total;
}

namespace {

// A section as libdw has it: unpacked.
Bytes section_bytes(Elf* elf, std::string_view name) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0)
    return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS)
      continue;
    const char* text = elf_strptr(elf, names, header.sh_name);
    if (text == nullptr || name != text)
      continue;
    Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr)
      return {};
    return std::as_bytes(std::span(static_cast<const char*>(data->d_buf), data->d_size));
  }
  return {};
}

}  // namespace

Bytes debug_section(Elf* elf, std::string_view name) {
  for (auto form : {".debug_{}", ".zdebug_{}", ".debug_{}.dwo"})
    if (Bytes bytes = section_bytes(elf, fmt::format(fmt::runtime(form), name)); !bytes.empty())
      return bytes;
  return {};
}

}  // namespace gosym::dwarf
