#pragma once

#include <elfutils/libdw.h>

#include <string>
#include <utility>
#include <vector>

namespace gosym::dwarf {

// One unit of debugging information, as far as look-ups need it.
struct Unit {
  struct Function {
    uint64_t begin = 0;
    uint64_t end = 0;
    Dwarf_Die die{};
  };

  Dwarf_Die die{};
  std::string directory;            // where the compiler was run
  std::vector<Function> functions;  // by begin
  std::vector<Function> discarded;  // by the linker: where lines may be theirs
  Dwarf_Lines* lines = nullptr;
  size_t line_count = 0;
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;

  // The innermost function at an address; null if there is none. Functions may lie in others,
  // as in D and Ada.
  const Function* function_at(uint64_t address) const;
  // File and line; null if unknown. libdw owns the text.
  std::pair<const char*, int> position_at(uint64_t address) const;
  // What it takes in memory, about.
  uint64_t memory_size() const;
};

// Reads the unit whose code is below `die`; in split DWARF that is not `own`, which the
// executable has. At most `max_dies` entries are looked at, and `max_ranges` pieces of code.
Unit read_unit(Dwarf_Die die, Dwarf_Die own, uint64_t max_dies, uint64_t max_ranges);

// Appends the inlined calls of a function that an address lies in, outermost first.
void add_inlined_calls(Dwarf_Die function, uint64_t address, std::vector<Dwarf_Die>& calls);

}  // namespace gosym::dwarf
