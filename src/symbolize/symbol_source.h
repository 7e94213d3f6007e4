#pragma once

#include <vector>

#include "base/address.h"
#include "base/call.h"
#include "profile/profile.h"

namespace gosym {

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
