#include "record/kernel_symbols.h"

#include <fmt/core.h>

#include <algorithm>

namespace gosym {

namespace {

// Far more than the kernel has of hot places; forgotten ones are looked for anew.
constexpr size_t kMaxSeen = 1 << 16;

}  // namespace

KernelSymbols::KernelSymbols(std::string_view kallsyms)
    : KernelSymbols(Kallsyms(kallsyms).symbols()) {}

KernelSymbols::KernelSymbols(std::span<const KernelSymbol> symbols) {
  for (const KernelSymbol& symbol : symbols) {
    symbols_.push_back({symbol.address, static_cast<uint32_t>(texts_.size())});
    texts_ += symbol.name;
    if (!symbol.module.empty())
      // The form of /proc/kallsyms, so that lines can be put together from these texts as they
      // are.
      texts_.append("\t[").append(symbol.module).append("]");
  }
  told_.resize(symbols_.size());
  // 200,000 of them stay in memory for all of the recording.
  texts_.shrink_to_fit();
  symbols_.shrink_to_fit();
}

// Callers are named by the address before that to which is returned.
void KernelSymbols::want(std::span<const uint64_t> stack) {
  for (uint64_t address : stack) {
    if (symbols_.empty() || !seen_.insert(address).second)
      continue;
    // An address that is returned to may be the first of the next function: both are wanted.
    want(address);
    if (address > 0)
      want(address - 1);
  }
  // It saves look-ups only: begun anew, nothing is told twice.
  if (seen_.size() > kMaxSeen)
    seen_.clear();
}

void KernelSymbols::want(uint64_t address) {
  auto next = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
  if (next == symbols_.begin())
    return;
  // Several symbols may have one address: they are told together, under the first.
  auto first = std::ranges::lower_bound(symbols_.begin(), next, std::prev(next)->address, {},
                                        &Symbol::address);
  auto index = static_cast<uint32_t>(first - symbols_.begin());
  if (!told_[index])
    wanted_.push_back(index);
  told_[index] = true;
}

std::string KernelSymbols::take() {
  std::string lines;
  for (uint32_t first : wanted_) {
    auto end =
        std::ranges::upper_bound(symbols_, symbols_[first].address, {}, &Symbol::address);
    // With all names of the address, and the symbol behind, which tells where the code ends.
    auto last = static_cast<size_t>(end - symbols_.begin());
    append(first, std::min(last + 1, symbols_.size()), lines);
  }
  wanted_.clear();
  return lines;
}

// All are written as of type "t": a reader asks only if it is code (Kallsyms).
void KernelSymbols::append(size_t first, size_t end, std::string& lines) const {
  for (size_t i = first; i < end; i++) {
    size_t text_end = i + 1 < symbols_.size() ? symbols_[i + 1].text : texts_.size();
    lines += fmt::format(
        "{:x} t {}\n", symbols_[i].address,
        std::string_view(texts_).substr(symbols_[i].text, text_end - symbols_[i].text));
  }
}

}  // namespace gosym
