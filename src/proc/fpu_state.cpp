#include "proc/fpu_state.h"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gosym::proc {

#if defined(__x86_64__)
std::vector<uint32_t> fpu_state_sizes(size_t limit) {
  constexpr uint32_t kStateLeaf = 0xd;
  constexpr uint32_t kTiles = 18;  // given to threads that ask for them; they lie last
  constexpr uint32_t kLegacySize = 512;
  constexpr uint32_t kEndMark = 4;
  std::vector<uint32_t> sizes;
  uint32_t features = 0;
  uint32_t size = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  bool has_states = __get_cpuid_count(kStateLeaf, 0, &features, &size, &ecx, &edx) != 0;
  if (has_states && (features >> kTiles & 1) != 0) {
    uint32_t eax = 0;
    uint32_t offset = 0;
    if (__get_cpuid_count(kStateLeaf, kTiles, &eax, &offset, &ecx, &edx) != 0)
      sizes.push_back(offset + kEndMark);
  }
  if (has_states)
    sizes.push_back(size + kEndMark);
  sizes.push_back(kLegacySize);
  sizes.resize(std::min(sizes.size(), limit));
  return sizes;
}
#else
std::vector<uint32_t> fpu_state_sizes(size_t) {
  return {};
}
#endif

}  // namespace gosym::proc
