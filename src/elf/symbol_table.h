#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "elf/image.h"

namespace gosym::elf {

struct Symbol {
  ImageAddress address{};
  uint64_t size = 0;
  std::string_view name;
};

// The functions of a symbol table (.symtab or .dynsym), for look-ups by address. An entry has
//
//   32 bits: u32 name, u32 value, u32 size, u8 info, u8 other, u16 section
//   64 bits: u32 name, u8 info, u8 other, u16 section, u64 value, u64 size
//
// where info holds the binding in its upper four bits and the type in its lower four. Functions
// (STT_FUNC, STT_GNU_IFUNC) of a defined section count; so do untyped symbols with a size,
// which assembly makes. Symbols without a size answer for nothing: they tell a start, but not
// how far.
//
// Names borrow from the image.
class SymbolTable {
public:
  // Entries whose name or value is out of range are left out.
  static SymbolTable read(const Image& image, const Section& section);

  // The symbol whose [address, address + size) holds `address`. Among several the one that
  // begins last, then the global before the weak before the local, then the longest range, then
  // the shortest name, then the first in the alphabet.
  std::optional<Symbol> find(ImageAddress address) const;

  const std::vector<Symbol>& symbols() const { return symbols_; }  // by address

private:
  // Where one symbol answers. Ranges do not overlap, so that a table of symbols that all lie in
  // one another is searched as fast as any.
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint32_t symbol;
  };
  void lay_out();

  std::vector<Symbol> symbols_;
  std::vector<Range> ranges_;
};

}  // namespace gosym::elf
