#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/bytes.h"

// Ways through the entries (DIEs) of debugging information that bear what strangers write
// there.

namespace gosym::dwarf {

// How much of the debugging information of a file may still be looked at.
struct Budget {
  uint64_t die_bytes = 0;
  uint64_t ranges = 0;
  uint64_t line_bytes = 0;
};

// Trees of DIEs are as deep as blocks are nested in the source. Compilers stop at 256 brackets.
inline constexpr int kMaxDepth = 512;

// Of a name, no more than shows that it is too long: strings may be as long as files.
inline std::string start_of(const char* name) {
  return {name, strnlen(name, kMaxNameSize + 1)};
}

// Calls `visit(begin, end)` for each piece of code that a DIE has, and takes one from `left`
// for each. Any number of DIEs may be said to have the same long list: at 0 it ends.
template <class Visitor>
void for_each_range(Dwarf_Die& die, uint64_t& left, Visitor visit) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t offset = 0;
  for (; left > 0; left--) {
    offset = dwarf_ranges(&die, offset, &base, &begin, &end);
    if (offset <= 0)
      return;
    if (begin < end)
      visit(begin, end);
  }
}

// Calls `visit(child)` for each child of a DIE, and takes the size of each with all that is
// below it from `left`: so much libdw may read to find the next. A sibling may be said to lie
// where a child does, so that a small tree has paths without number: at 0 it ends.
template <class Visitor>
void for_each_child(Dwarf_Die parent, uint64_t& left, Visitor visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0)
    return;
  while (left > 0) {
    visit(child);
    Dwarf_Die next;
    int status = dwarf_siblingof(&child, &next);
    // A sibling that does not lie further on would be met for ever.
    bool is_further = next.addr != nullptr && next.addr > child.addr;
    left -= std::min<uint64_t>(
        left,
        is_further ? static_cast<const char*>(next.addr) - static_cast<char*>(child.addr) : 1);
    if (status != 0 || !is_further)
      return;
    child = next;
  }
}

// Null if there is none.
inline const char* text_of(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(&die, name, &attribute));
}

}  // namespace gosym::dwarf
