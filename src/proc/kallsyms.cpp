#include "proc/kallsyms.h"

#include <algorithm>

#include "base/text.h"

namespace gosym {

namespace {

// No function of a kernel is near as long.
constexpr uint64_t kLongest = 1 << 20;

// A line is "ADDRESS TYPE NAME", with "[MODULE]" behind it for code of a module. None for what
// is not code, and where the address is hidden, which is 0 then.
std::optional<KernelSymbol> parse_line(std::string_view line) {
  auto address = parse_hex(take_word(line));
  std::string_view type = take_word(line);
  KernelSymbol symbol{address.value_or(0), take_word(line), {}};
  std::string_view module = take_word(line);
  if (module.size() > 2 && module.front() == '[' && module.back() == ']')
    symbol.module = module.substr(1, module.size() - 2);
  bool is_code = type == "t" || type == "T" || type == "w" || type == "W";
  if (symbol.address == 0 || !is_code || symbol.name.empty())
    return std::nullopt;
  return symbol;
}

}  // namespace

Kallsyms::Kallsyms(std::string_view text) {
  while (!text.empty())
    if (auto symbol = parse_line(take_line(text)))
      symbols_.push_back(*symbol);
  // Among aliases the first of the text stays the first.
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const auto& a, const auto& b) { return a.address < b.address; });
}

std::optional<KernelSymbol> Kallsyms::find(uint64_t address) const {
  auto next = std::upper_bound(
      symbols_.begin(), symbols_.end(), address,
      [](uint64_t value, const auto& symbol) { return value < symbol.address; });
  if (next == symbols_.begin())
    return std::nullopt;
  uint64_t begin = std::prev(next)->address;
  // The file has no sizes: a symbol far below is of other code.
  if (address - begin >= kLongest)
    return std::nullopt;
  // The first of several names stands for the address, in the order of the kernel.
  auto first_alias = std::lower_bound(
      symbols_.begin(), next, begin,
      [](const auto& symbol, uint64_t value) { return symbol.address < value; });
  return *first_alias;
}

}  // namespace gosym
