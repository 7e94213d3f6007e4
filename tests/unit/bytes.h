#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace gosym {

// Bytes written out: bytes(0x7f, 'E', 'L', 'F').
template <class... Values>
std::array<std::byte, sizeof...(Values)> bytes(Values... values) {
  return {static_cast<std::byte>(values)...};
}

}  // namespace gosym
