#pragma once

#include <cstdint>
#include <string_view>

namespace gosym {

// One call at a code address, as a source of symbols knows it. The views live as long as the
// image they came from.
struct Call {
  std::string_view function;  // as the linker has it
  std::string_view file;      // empty if unknown
  uint32_t line = 0;          // 0 if unknown
  uint32_t start_line = 0;    // of the function; 0 if unknown
};

}  // namespace gosym
