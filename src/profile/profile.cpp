#include "profile/profile.h"

#include <fmt/format.h>

#include <cassert>

#include "base/text.h"

namespace gosym {

std::string_view to_string(FrameSource source) {
  switch (source) {
    case FrameSource::kPclntab:
      return "pclntab";
    case FrameSource::kSymtab:
      return "symtab";
    case FrameSource::kDynsym:
      return "dynsym";
    case FrameSource::kKallsyms:
      return "kallsyms";
  }
  assert(false);
  return {};
}

std::span<const LocationId> Profile::stack(StackId id) const {
  uint32_t begin = stack_begin[to_index(id)];
  uint32_t end = stack_begin[to_index(id) + 1];
  return std::span(stack_locations).subspan(begin, end - begin);
}

std::span<const Frame> Profile::frames_of(const Location& location) const {
  return std::span(frames).subspan(location.first_frame, location.frame_count);
}

const ProfileImage& Profile::image_of(MappingId id) const {
  return images[mappings[to_index(id)].image];
}

std::string Profile::unnamed_text(const Location& location) const {
  std::string_view file = base_name(image_of(location.mapping).file.path);
  uint64_t address = to_integer(location.address);
  uint64_t offset = location.image_address
                        ? to_integer(*location.image_address)
                        : address - mappings[to_index(location.mapping)].start;
  switch (location.unnamed) {
    case Unnamed::kNotAsked:
      return fmt::format("[{:#x}]", address);
    case Unnamed::kUnmapped:
      return fmt::format("[no mapping {:#x}]", address);
    case Unnamed::kAnonymous:
      return fmt::format("[anonymous {:#x}]", address);
    case Unnamed::kVdso:
      return fmt::format("[vdso+{:#x}]", offset);
    case Unnamed::kUnidentified:
      return fmt::format("[unidentified {}+{:#x}]", file, offset);
    case Unnamed::kDeleted:
      return fmt::format("[deleted {}+{:#x}]", file, offset);
    case Unnamed::kMissing:
      return fmt::format("[missing {}+{:#x}]", file, offset);
    case Unnamed::kChanged:
      return fmt::format("[changed {}+{:#x}]", file, offset);
    case Unnamed::kStripped:
      return fmt::format("[stripped {}+{:#x}]", file, offset);
    case Unnamed::kNoSymbol:
      return fmt::format("[no symbol {}+{:#x}]", file, offset);
    case Unnamed::kNoKernelSymbols:
      return fmt::format("[kernel {:#x}]", address);
  }
  assert(false);
  return {};
}

uint64_t Profile::period_ns() const {
  return info.frequency == 0 ? 0 : 1'000'000'000 / info.frequency;
}

uint64_t Profile::total_count() const {
  uint64_t total = 0;
  for (const SampleCount& sample : samples)
    total += sample.count;
  return total;
}

}  // namespace gosym
