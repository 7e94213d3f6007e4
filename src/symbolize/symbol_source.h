#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/address.h"
#include "model/call.h"
#include "profile/profile.h"

namespace gosym {

// A function of an image, without the padding after it. The views live as long as the image.
struct FunctionRange {
  ImageAddress address{};
  uint64_t size = 0;
  std::string_view name;
  std::string_view file;  // empty if unknown
  uint32_t line = 0;      // where it begins; 0 if unknown
};

// One kind of evidence about one image: its pclntab, its symbol table. A source says what it
// knows, and nothing about who else was asked.
class SymbolSource {
public:
  virtual ~SymbolSource() = default;

  virtual FrameSource kind() const = 0;

  // Appends the calls at `address`, innermost first. False, and nothing appended, if the source
  // has no function there: that is an answer, not an error.
  // May read more of the image.
  virtual bool find(ImageAddress address, std::vector<Call>& calls) = 0;

  // A label that may belong to `address`: FrameSource::kLabel. Asked if no source has an
  // answer.
  virtual std::optional<FunctionRange> guess(ImageAddress) { return std::nullopt; }

  // Appends all its functions, by address; none if it knows them only one by one.
  virtual void list(std::vector<FunctionRange>& functions) = 0;

  // Appends where within [begin, end) its answers may change, in any order: between two such
  // places that follow one another it says the same of all addresses.
  virtual void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) = 0;
};

}  // namespace gosym
