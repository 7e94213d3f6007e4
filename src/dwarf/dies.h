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

// A way through the DIEs of one unit.
struct DieWalk {
  uint64_t& left;  // Budget::die_bytes
  // Where the unit ends; null if that is not known. Then no way is cut short.
  const char* unit_end = nullptr;
};

// Through the unit that a DIE lies in, at the cost of `left`.
DieWalk walk_unit(Dwarf_Die die, Budget& left);

// Calls `visit(child)` for each child of a DIE, and takes the size of each with all that is
// below it from `left`: so much libdw may read to find the next. A sibling may be said to lie
// where a child does, so that a small tree has paths without number: at 0 it ends.
//
// Gives where the next DIE after all of these begins, null if it is not known. `visit` gives
// the same, if it went through the children of the child: else libdw passes over them to find
// the next one, at each level of a tree once more.
template <class Visitor>
char* for_each_child(DieWalk walk, Dwarf_Die parent, Visitor visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0)
    return nullptr;
  while (walk.left > 0) {
    char* behind = visit(child);
    bool is_known = behind != nullptr && behind < walk.unit_end;
    Dwarf_Die next{};
    int status = 0;
    if (is_known) {
      next.addr = behind;
      next.cu = child.cu;
      status = *behind == '\0' ? 1 : 0;
    } else {
      // After the last one this is where the list ends.
      status = dwarf_siblingof(&child, &next);
    }
    auto* end = static_cast<char*>(next.addr);
    // A sibling that does not lie further on would be met for ever.
    bool is_further = end != nullptr && end > static_cast<char*>(child.addr);
    walk.left -=
        std::min<uint64_t>(walk.left, is_further ? end - static_cast<char*>(child.addr) : 1);
    if (status != 0 || !is_further)
      return status == 1 && is_further && end < walk.unit_end && *end == '\0' ? end + 1
                                                                              : nullptr;
    child = next;
  }
  return nullptr;
}

// Null if there is none.
inline const char* text_of(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(&die, name, &attribute));
}

}  // namespace gosym::dwarf
