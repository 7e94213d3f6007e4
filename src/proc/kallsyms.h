#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gosym {

struct KernelSymbol {
  uint64_t address = 0;
  std::string_view name;
  std::string_view module;  // empty: the kernel itself; "bpf" for BPF programs
};

// The functions in the text of /proc/kallsyms, one a line:
//
//   ffffffff81000000 T name
//   ffffffffc0201000 t name<TAB>[module]
//
// Types t, T, w and W are code. The addresses are all 0 for readers whom kernel.kptr_restrict
// does not trust: then there are no symbols. Names borrow from the text.
class Kallsyms {
public:
  // Lines that are not of this form are passed over.
  explicit Kallsyms(std::string_view text);

  // The function that begins last at or before `address`. Sizes are not told, so a function
  // reaches up to the next symbol, and the last one 1 MiB at most.
  std::optional<KernelSymbol> find(uint64_t address) const;

  // By address, aliases in the order of the text.
  const std::vector<KernelSymbol>& symbols() const { return symbols_; }
  bool empty() const { return symbols_.empty(); }

private:
  std::vector<KernelSymbol> symbols_;
};

}  // namespace gosym
