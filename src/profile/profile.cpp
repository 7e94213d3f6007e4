#include "profile/profile.h"

#include <cassert>

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
