#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
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

// One who reads the lists of pieces of code of a unit where libdw cannot.
class RangeSource {
public:
  using Visitor = std::function<void(uint64_t begin, uint64_t end)>;
  virtual ~RangeSource() = default;
  virtual bool has_list(Dwarf_Die& die) const = 0;
  // As for_each_range().
  virtual void visit_list(Dwarf_Die& die, uint64_t& left, const Visitor& visit) const = 0;
};

// Calls `visit(begin, end)` for each piece of code that a DIE has, and takes one from `left`
// for each. Any number of DIEs may be said to have the same long list: at 0 it ends. Lists are
// read by `source`, if there is one.
template <class Visitor>
void for_each_range(const RangeSource* source, Dwarf_Die& die, uint64_t& left, Visitor visit) {
  if (source != nullptr && source->has_list(die))
    return source->visit_list(die, left, visit);
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
  Budget& left;
  // Where the unit ends; null if that is not known. Then no way is cut short.
  const char* unit_end = nullptr;
};

// Through the unit that a DIE lies in, at the cost of `left`.
DieWalk walk_unit(Dwarf_Die die, Budget& left);

// Finds what comes after a DIE of a list: 0 and the next one, 1 and where the list ends, -1 if
// neither is there. `behind` is where it begins, or null: then libdw passes over all that is
// below the DIE, and the bytes are taken from the budget.
inline int find_next(DieWalk walk, Dwarf_Die child, char* behind, Dwarf_Die& next) {
  next = {};
  int status = 0;
  uint64_t cost = 1;
  if (behind != nullptr && behind < walk.unit_end) {
    next.addr = behind;
    next.cu = child.cu;
    status = *behind == '\0' ? 1 : 0;
  } else {
    status = dwarf_siblingof(&child, &next);
  }
  // A sibling that does not lie further on would be met for ever.
  auto* from = static_cast<char*>(child.addr);
  auto* to = static_cast<char*>(next.addr);
  if (to == nullptr || to <= from)
    status = -1;
  else if (to != behind)
    cost = to - from;
  walk.left.die_bytes -= std::min(walk.left.die_bytes, cost);
  return status;
}

// Calls `visit(child)` for each child of a DIE. A sibling may be said to lie where a child
// does, so that a small tree has paths without number: each step takes from the budget, and at
// 0 it ends.
//
// Gives where the next DIE after all of these begins, null if it is not known. `visit` gives
// the same, if it went through the children of the child: else libdw passes over them to find
// the next one, at each level of a tree once more.
template <class Visitor>
char* for_each_child(DieWalk walk, Dwarf_Die parent, Visitor visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0)
    return nullptr;
  while (walk.left.die_bytes > 0) {
    char* behind = visit(child);
    Dwarf_Die next;
    int status = find_next(walk, child, behind, next);
    if (status != 0) {
      auto* end = static_cast<char*>(next.addr);
      bool ends_here = status == 1 && end < walk.unit_end && *end == '\0';
      return ends_here ? end + 1 : nullptr;
    }
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
