#include "dwarf/unit.h"

#include <algorithm>

#include "dwarf/dies.h"

namespace gosym::dwarf {

namespace {

// How much may still be looked at.
struct Budget {
  uint64_t dies;
  uint64_t ranges;
};
// More than the largest function has below it.
constexpr Budget kFunctionBudget = {1 << 20, 1 << 20};

void add_functions(Dwarf_Die parent, int depth, Budget& left, Unit& unit) {
  if (depth == kMaxDepth)
    return;
  for_each_child(parent, left.dies, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        for_each_range(child, left.ranges, [&](uint64_t begin, uint64_t end) {
          unit.functions.push_back({begin, end, child});
        });
        add_functions(child, depth + 1, left, unit);
        break;
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_enumeration_type:
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        add_functions(child, depth + 1, left, unit);
        break;
      default:
        break;
    }
  });
}

bool has_code(Dwarf_Die& die) {
  return dwarf_hasattr(&die, DW_AT_low_pc) != 0 || dwarf_hasattr(&die, DW_AT_ranges) != 0;
}

bool has_address(Dwarf_Die& die, uint64_t address, uint64_t& ranges_left) {
  bool result = false;
  for_each_range(die, ranges_left, [&](uint64_t begin, uint64_t end) {
    result |= address >= begin && address < end;
  });
  return result;
}

void add_inlined(Dwarf_Die scope, uint64_t address, int depth, Budget& left,
                 std::vector<Dwarf_Die>& calls) {
  if (depth == kMaxDepth)
    return;
  bool is_done = false;
  for_each_child(scope, left.dies, [&](Dwarf_Die& child) {
    int tag = dwarf_tag(&child);
    bool is_call = tag == DW_TAG_inlined_subroutine;
    if (is_done || (!is_call && !is_block(tag)))
      return;
    // A block without code of its own may hold calls that have some.
    is_done = has_address(child, address, left.ranges);
    if (!is_done && (is_call || has_code(child)))
      return;
    if (is_call)
      calls.push_back(child);
    add_inlined(child, address, depth + 1, left, calls);
  });
}

}  // namespace

const Unit::Function* Unit::function_at(uint64_t address) const {
  auto after = std::ranges::upper_bound(functions, address, {}, &Function::begin);
  // The innermost of nested functions begins last. Others in between end before.
  constexpr int kMaxNested = 16;
  for (int i = 0; after != functions.begin() && i < kMaxNested; i++)
    if (--after; address < after->end)
      return &*after;
  return nullptr;
}

std::pair<const char*, int> Unit::position_at(uint64_t address) const {
  size_t low = 0;
  size_t high = line_count;
  auto address_of = [&](size_t i) {
    Dwarf_Addr at = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, i), &at);
    return at;
  };
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (address_of(middle) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  // The last row at or before the address; none if that only ends what came before.
  Dwarf_Line* row = low == 0 ? nullptr : dwarf_onesrcline(lines, low - 1);
  bool is_end = true;
  int line = 0;
  if (row == nullptr || dwarf_lineendsequence(row, &is_end) != 0 || is_end ||
      dwarf_lineno(row, &line) != 0)
    return {nullptr, 0};
  return {dwarf_linesrc(row, nullptr, nullptr), line};
}

uint64_t Unit::memory_size() const {
  constexpr uint64_t kRowSize = 64;  // of a line table, in libdw
  return line_count * kRowSize + functions.size() * sizeof(Function);
}

Unit read_unit(Dwarf_Die die, Dwarf_Die own, uint64_t max_dies, uint64_t max_ranges) {
  Unit unit;
  unit.die = die;
  if (const char* directory = text_of(own, DW_AT_comp_dir))
    unit.directory = directory;
  Budget left = {max_dies, max_ranges};
  add_functions(die, 0, left, unit);
  std::ranges::stable_sort(unit.functions, {}, &Unit::Function::begin);
  if (dwarf_getsrclines(&die, &unit.lines, &unit.line_count) != 0)
    unit.line_count = 0;
  if (dwarf_getsrcfiles(&die, &unit.files, &unit.file_count) != 0)
    unit.file_count = 0;
  return unit;
}

void add_inlined_calls(Dwarf_Die function, uint64_t address, std::vector<Dwarf_Die>& calls) {
  Budget left = kFunctionBudget;
  add_inlined(function, address, 0, left, calls);
}

}  // namespace gosym::dwarf
