#include "dwarf/sections.h"

#include <fmt/core.h>
#include <gelf.h>

namespace gosym::dwarf {

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
