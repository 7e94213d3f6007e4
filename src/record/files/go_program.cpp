#include "record/files/go_program.h"

#include <algorithm>

#include "go/build_info.h"
#include "go/goroutine_pointer.h"

namespace gosym {

namespace {

// Code of a program is read in such pieces, and up to kMaxCode bytes in all. The runtime comes
// early in it, behind what C code there is.
constexpr uint64_t kPieceSize = 256 << 10;
constexpr uint64_t kMaxCode = 64 << 20;

std::optional<std::string> read_version(SparseCopy& copy, const elf::Image& image) {
  for (int i = 0; i < go::kVersionRounds; i++)
    for (const elf::FileExtent& extent : go::version_extents(image))
      copy.read(extent);
  auto info = go::read_build_info(image);
  return info ? std::optional<std::string>(info->go_version) : std::nullopt;
}

// Finds the version of a program up to Go 1.12, which has no record of it, but all of these
// sections; and up to Go 1.3 no version at all. A program that is not of that release after all
// has no goroutine where the sampler looks for it.
std::optional<std::string> find_version(SparseCopy& copy, const elf::Image& image) {
  for (const char* name : {".gopclntab", ".rodata", ".noptrdata", ".data"}) {
    const elf::Section* section = image.find_section(name);
    if (!section)
      return std::nullopt;
    if (section->name != ".gopclntab")
      copy.read({.offset = section->offset, .size = section->size});
  }
  auto version = go::find_runtime_version(image);
  return std::string(version.value_or(go::kVersionWithSegments));
}

std::optional<go::GoroutinePointer> find_pointer(const SparseCopy& copy,
                                                 const elf::Segment& code, uint64_t& left) {
  std::vector<std::byte> buffer(kPieceSize);
  uint64_t step = kPieceSize - go::kGoroutinePointerCode;
  uint64_t size = std::min(code.file_size, left);
  left -= size;
  for (uint64_t offset = 0; offset < size; offset += step) {
    Bytes piece = copy.look({.offset = code.offset + offset, .size = size - offset}, buffer);
    auto address = ImageAddress{to_integer(code.address) + offset};
    if (auto found = go::find_goroutine_pointer(piece, address))
      return found;
    if (piece.size() < std::min(kPieceSize, size - offset))
      break;  // the file ends here
  }
  return std::nullopt;
}

}  // namespace

std::optional<GoProgram> read_go_program(SparseCopy& copy, const elf::Image& image) {
  if (image.machine != EM_X86_64 || image.pointer_size != 8)
    return std::nullopt;
  bool may_have_record = image.sections.empty() || image.find_section(".go.buildinfo");
  auto version = may_have_record ? read_version(copy, image) : find_version(copy, image);
  if (!version)
    return std::nullopt;
  uint64_t left = kMaxCode;
  for (const elf::Segment& segment : image.segments) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0)
      continue;
    auto pointer = find_pointer(copy, segment, left);
    if (!pointer)
      continue;
    GoProgram program = {*version, go::runtime_layout(*version), pointer->offset, std::nullopt};
    if (pointer->offset_at)
      program.offset_at =
          to_integer(*pointer->offset_at) - to_integer(segment.address) + segment.offset;
    return program;
  }
  return std::nullopt;
}

}  // namespace gosym
