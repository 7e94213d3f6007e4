#include "elf/symbol_table.h"

#include <algorithm>
#include <tuple>

#include "base/reader.h"

namespace gosym::elf {

namespace {

struct RawSymbol {
  uint32_t name_offset = 0;
  uint8_t info = 0;
  uint16_t section = 0;
  uint64_t value = 0;
  uint64_t size = 0;
};

RawSymbol read_symbol(Reader& in, uint8_t pointer_size) {
  RawSymbol symbol;
  symbol.name_offset = in.u32();
  if (pointer_size == 4) {
    symbol.value = in.u32();
    symbol.size = in.u32();
  }
  symbol.info = in.u8();
  in.u8();
  symbol.section = in.u16();
  if (pointer_size == 8) {
    symbol.value = in.u64();
    symbol.size = in.u64();
  }
  return symbol;
}

bool is_function(const RawSymbol& symbol) {
  unsigned type = ELF64_ST_TYPE(symbol.info);
  bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
  return is_code && symbol.section != SHN_UNDEF && symbol.section != SHN_ABS &&
         symbol.size != 0 && symbol.value + symbol.size > symbol.value;
}

// Lower is better.
unsigned rank_of_binding(uint8_t info) {
  switch (ELF64_ST_BIND(info)) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
      return 0;
    case STB_WEAK:
      return 1;
    default:
      return 2;
  }
}

struct Candidate {
  Symbol symbol;
  unsigned rank;
};

// The best of several at one address comes last, so that a search from behind meets it first.
bool is_before(const Candidate& a, const Candidate& b) {
  auto order = [](const Candidate& c) {
    return std::tuple(c.symbol.address, ~uint64_t{c.rank}, c.symbol.size,
                      ~uint64_t{c.symbol.name.size()});
  };
  auto order_a = order(a);
  auto order_b = order(b);
  return order_a != order_b ? order_a < order_b : a.symbol.name > b.symbol.name;
}

}  // namespace

SymbolTable SymbolTable::read(const Image& image, const Section& section) {
  SymbolTable table;
  auto entries = image.contents(section);
  if (!entries || section.link == 0 || section.link > image.sections.size())
    return table;
  // `sections` leaves section 0 out.
  Bytes names = image.contents(image.sections[section.link - 1]).value_or(Bytes{});

  std::vector<Candidate> candidates;
  Reader in(*entries, image.order);
  while (in.ok() && in.remaining() > 0) {
    RawSymbol raw = read_symbol(in, image.pointer_size);
    auto name = load_cstring(names, raw.name_offset);
    if (in.ok() && is_function(raw) && name && !name->empty() &&
        image.is_executable_at(ImageAddress{raw.value}))
      candidates.push_back(
          {{ImageAddress{raw.value}, raw.size, *name}, rank_of_binding(raw.info)});
  }
  std::sort(candidates.begin(), candidates.end(), is_before);

  for (const Candidate& candidate : candidates)
    table.symbols_.push_back(candidate.symbol);
  table.lay_out();
  return table;
}

// Goes through the symbols by address with those that are open, the one that answers on top.
void SymbolTable::lay_out() {
  std::vector<uint32_t> open;
  uint64_t position = 0;
  auto answer_until = [&](uint64_t limit) {
    while (!open.empty() && position < limit) {
      const Symbol& top = symbols_[open.back()];
      uint64_t end = std::min(to_integer(top.address) + top.size, limit);
      if (position < end)
        ranges_.push_back({position, end, open.back()});
      position = std::max(position, end);
      if (position < limit)
        open.pop_back();
    }
    position = limit;
  };
  for (uint32_t i = 0; i < symbols_.size(); i++) {
    answer_until(to_integer(symbols_[i].address));
    open.push_back(i);
  }
  answer_until(UINT64_MAX);
}

std::optional<Symbol> SymbolTable::find(ImageAddress address) const {
  auto next = std::ranges::upper_bound(ranges_, to_integer(address), {}, &Range::begin);
  if (next == ranges_.begin() || std::prev(next)->end <= to_integer(address))
    return std::nullopt;
  return symbols_[std::prev(next)->symbol];
}

}  // namespace gosym::elf
