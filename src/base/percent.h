#pragma once

#include <cstdint>

namespace gosym {

// 0 of nothing is 0 %.
inline double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace gosym
