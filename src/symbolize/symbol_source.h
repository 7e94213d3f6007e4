#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/image.h"
#include "go/module.h"
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

// Each opens one source of an image or of its Go module, which it borrows; null if the image
// has none of that kind. Those of .dynsym and of stubs are there always, and read when asked.
std::unique_ptr<SymbolSource> open_pclntab_source(const go::Module& module);
std::unique_ptr<SymbolSource> open_symtab_source(const elf::Image& image);
std::unique_ptr<SymbolSource> open_dynsym_source(const elf::Image& image);
// Fails if the image has MiniDebugInfo that cannot be read.
Result<std::unique_ptr<SymbolSource>> open_minidebuginfo_source(const elf::Image& image);
std::unique_ptr<SymbolSource> open_plt_source(const elf::Image& image);

// Takes out of the calls at one address those that Go's runtime leaves out of its stacks:
// wrappers, unless what they call is a panic. Where nothing else is there, the function that
// holds the code stays, for an address has to have a name.
inline void hide_wrappers(std::vector<Call>& calls) {
  if (calls.empty())
    return;
  Call outermost = calls.back();
  FunctionKind callee = FunctionKind::kNormal;
  std::erase_if(calls, [&](const Call& call) {
    return is_hidden(call.kind, std::exchange(callee, call.kind));
  });
  if (calls.empty())
    calls.push_back(outermost);
}

}  // namespace gosym
