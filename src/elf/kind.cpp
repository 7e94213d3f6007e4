#include "elf/kind.h"

#include <algorithm>

#include "base/reader.h"

namespace gosym::elf {

namespace {

const Segment* find_segment(const Image& image, uint32_t type) {
  for (const Segment& segment : image.segments)
    if (segment.type == type)
      return &segment;
  return nullptr;
}

// The value of an entry of the dynamic section; 0 if there is none.
uint64_t dynamic_value(const Image& image, uint64_t tag) {
  const Segment* segment = find_segment(image, PT_DYNAMIC);
  auto bytes = segment ? slice(image.file, segment->offset, segment->file_size) : std::nullopt;
  if (!bytes)
    return 0;
  Reader in(*bytes, image.order);
  while (in.ok()) {
    uint64_t entry_tag = in.word(image.pointer_size);
    uint64_t value = in.word(image.pointer_size);
    if (entry_tag == tag && in.ok())
      return value;
  }
  return 0;
}

bool has_contents(const Image& image, std::string_view section_name) {
  const Section* section = image.find_section(section_name);
  return section && section->type != SHT_NOBITS;
}

std::string type_of(const Image& image) {
  bool is_program = find_segment(image, PT_INTERP) != nullptr ||
                    (dynamic_value(image, DT_FLAGS_1) & DF_1_PIE) != 0;
  switch (image.type) {
    case ET_REL:
      return "relocatable object";
    case ET_EXEC:
      return "executable";
    case ET_DYN:
      return is_program ? "position-independent executable" : "shared object";
    case ET_CORE:
      return "core dump";
    default:
      return fmt::format("ELF type {}", image.type);
  }
}

std::string machine_of(const Image& image) {
  bool is_big = image.order == ByteOrder::kBig;
  bool is_64 = image.pointer_size == 8;
  switch (image.machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "386";
    case EM_AARCH64:
      return is_big ? "arm64, big-endian" : "arm64";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return is_64 ? "riscv64" : "riscv32";
    case EM_S390:
      return is_64 ? "s390x" : "s390";
    case EM_PPC64:
      return is_big ? "ppc64" : "ppc64le";
    case EM_MIPS:
      return fmt::format("mips{}{}", is_64 ? "64" : "", is_big ? "" : "le");
    case 258:  // EM_LOONGARCH, which glibc 2.36 does not name
      return "loong64";
    default:
      return fmt::format("machine {}", image.machine);
  }
}

// The record of UPX's loader follows the program headers: a checksum, then this.
bool is_packed(const Image& image) {
  constexpr size_t kHeaders = 4096;
  Bytes headers = image.file.first(std::min(image.file.size(), kHeaders));
  return image.sections.empty() && as_text(headers).find("UPX!") != std::string_view::npos;
}

}  // namespace

Kind kind_of(const Image& image) {
  Kind kind;
  kind.type = type_of(image);
  kind.machine = machine_of(image);
  bool is_dynamic = find_segment(image, PT_DYNAMIC) != nullptr;
  bool is_static_program = image.type == ET_DYN && kind.type != "shared object" &&
                           find_segment(image, PT_INTERP) == nullptr;
  kind.linking = is_dynamic && !is_static_program ? "dynamically linked" : "statically linked";
  kind.is_stripped = image.find_section(uint32_t{SHT_SYMTAB}) == nullptr;
  kind.has_dwarf = has_contents(image, ".debug_info") || has_contents(image, ".zdebug_info");
  kind.is_packed = is_packed(image);
  return kind;
}

}  // namespace gosym::elf
