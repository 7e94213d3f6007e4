#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "profile/profile.h"

namespace gosym {

// One call at an address. The views live as long as the image they came from.
struct Call {
  std::string_view function;    // as the linker has it
  std::string_view file;        // empty if unknown
  uint32_t line = 0;            // 0 if unknown
  uint32_t start_line = 0;      // of the function; 0 if unknown
  std::string_view start_file;  // of the function; empty if unknown
};

// One kind of evidence about one image: its pclntab, its symbol table. A source says what it
// knows, and nothing about who else was asked.
class SymbolSource {
public:
  virtual ~SymbolSource() = default;

  virtual FrameSource kind() const = 0;

  // Appends the calls at `address`, innermost first. False, and nothing appended, if the source
  // has no function there: that is an answer, not an error.
  virtual bool find(ImageAddress address, std::vector<Call>& calls) const = 0;
};

}  // namespace gosym
