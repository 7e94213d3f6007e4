#pragma once

#include <tsl/robin_set.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proc/kallsyms.h"

namespace gosym {

// The kernel's symbols as they were when a recorder began. Only those that its samples need go
// into the recording: some hundred lines of the 200,000 of /proc/kallsyms, which compressed
// take a megabyte, more than the samples of many a recording.
class KernelSymbols {
public:
  KernelSymbols() = default;  // none
  // Parses the text of /proc/kallsyms, which need not live longer than the call.
  explicit KernelSymbols(std::string_view kallsyms);
  // By address, as Kallsyms has them.
  explicit KernelSymbols(std::span<const KernelSymbol> symbols);

  bool empty() const { return symbols_.empty(); }

  void want(std::span<const uint64_t> stack);

  // Lines as in /proc/kallsyms, which name what was wanted since the last call, as far as
  // earlier ones do not: each function, all its names in their order, and the symbol at which
  // it ends.
  std::string take();

private:
  struct Symbol {
    uint64_t address;
    uint32_t
        text;  // where in texts_ its name and module begin; they end where the next one's do
  };

  void want(uint64_t address);
  void append(size_t first, size_t end, std::string& lines) const;

  std::vector<Symbol> symbols_;  // by address
  std::string texts_;
  tsl::robin_set<uint64_t> seen_;  // addresses
  std::vector<bool> told_;         // by the first symbol at an address, as are these
  std::vector<uint32_t> wanted_;
};

}  // namespace gosym
