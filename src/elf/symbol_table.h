#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "elf/image.h"

namespace gosym::elf {

enum class Binding : uint8_t { kGlobal, kWeak, kLocal };

struct Symbol {
  ImageAddress address{};
  uint64_t size = 0;
  std::string_view name;
  Binding binding = Binding::kGlobal;
};

// The functions of a symbol table (.symtab or .dynsym), for look-ups by address. The section
// links to the one with the names. An entry has
//
//   32 bits: u32 name, u32 value, u32 size, u8 info, u8 other, u16 section
//   64 bits: u32 name, u8 info, u8 other, u16 section, u64 value, u64 size
//
// where info holds the binding in its upper four bits and the type in its lower four. Of those
// of a defined section these are code:
//
//   functions  with a size, and of type FUNC, or GNU_IFUNC, which chooses a function when the
//              program starts. Assembly makes them untyped too (NOTYPE); then they must lie in
//              an executable section, for data can lie beside code.
//   labels     of the same types, without a size: a start, but not how far. Assembly that was
//              written without care has nothing else.
//
// Peculiarities:
//
// - Linkers put the version into the names of .symtab, "memcpy@@GLIBC_2.14" where it is the
//   default and "memcpy@GLIBC_2.2.5" where not. .dynsym has it elsewhere. Names here are
//   without: callers write memcpy.
// - On 32-bit ARM bit 0 of a function's value says that its code is Thumb.
// - Untyped labels whose name begins with '$' tell where code and data begin (ARM, RISC-V),
//   those with '.' are the compiler's. They name nothing.
//
// Names borrow from the image.
class SymbolTable {
public:
  // Entries whose name or value is out of range are left out.
  static SymbolTable read(const Image& image, const Section& section);

  // The function whose [address, address + size) holds `address`. Functions can lie in one
  // another, and have more than one name: of those that hold the address it is
  //
  //   the one that begins last,
  //   then the global before the weak before the local,
  //   then the longest,
  //   then the one of the shortest name, then the first in the alphabet.
  //
  // So in the C library it is malloc, not __libc_malloc, both of which are global; but __write,
  // which is global, and not write, which is weak.
  std::optional<Symbol> find(ImageAddress address) const;

  // The label that comes last before `address`, if there is neither another symbol of any kind
  // nor the end of the section in between; of several at one place that of find(). It is a
  // guess: whether the code belongs to it, nobody tells. The symbols that a program exports
  // leave most of its functions out, so a label among these also ends where its code seems to
  // (calls.h); and so does one of the object that the compiler puts before the program, whose
  // own symbols may be gone.
  std::optional<Symbol> guess(ImageAddress address) const;

  // Appends where within [begin, end) another function answers than before.
  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) const;

  const std::vector<Symbol>& functions() const { return functions_; }  // by address
  // By address, one a place; the size is how far each is taken to reach.
  const std::vector<Symbol>& labels() const { return labels_; }

private:
  // Addresses for which one function is the answer. Ranges do not overlap, so that a table of
  // functions that all lie in one another is searched as fast as any.
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint32_t function;
  };
  void lay_out();
  void bound_labels(const std::vector<Section>& code, std::vector<ImageAddress> places);

  std::vector<Symbol> functions_;
  std::vector<Range> ranges_;
  std::vector<Symbol> labels_;
};

// The name of entry `index` of a symbol table, without its version; none if it has none.
std::optional<std::string_view> symbol_name(const Image& image, const Section& section,
                                            uint64_t index);

}  // namespace gosym::elf
