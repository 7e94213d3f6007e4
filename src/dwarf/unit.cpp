#include "dwarf/unit.h"

#include <algorithm>

namespace gosym::dwarf {

namespace {

void add_functions(Dwarf_Die parent, int depth, Budget& left,
                   std::vector<Unit::Function>& functions) {
  if (depth == kMaxDepth)
    return;
  for_each_child(parent, left.die_bytes, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        for_each_range(child, left.ranges, [&](uint64_t begin, uint64_t end) {
          functions.push_back({begin, end, child});
        });
        [[fallthrough]];
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_enumeration_type:
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        return add_functions(child, depth + 1, left, functions);
      default:
        return;
    }
  });
}

void add_inlined(Dwarf_Die scope, int die_depth, int call_depth, Budget& left,
                 std::vector<Unit::InlinedCall>& calls) {
  if (die_depth == kMaxDepth)
    return;
  for_each_child(scope, left.die_bytes, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_inlined_subroutine:
        for_each_range(child, left.ranges, [&](uint64_t begin, uint64_t end) {
          calls.push_back({begin, end, call_depth, child});
        });
        return add_inlined(child, die_depth + 1, call_depth + 1, left, calls);
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        return add_inlined(child, die_depth + 1, call_depth, left, calls);
      default:
        return;
    }
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

std::vector<Unit::Function> read_functions(Dwarf_Die die, Budget& left) {
  std::vector<Unit::Function> functions;
  add_functions(die, 0, left, functions);
  std::ranges::stable_sort(functions, {}, &Unit::Function::begin);
  return functions;
}

std::vector<Unit::InlinedCall> read_inlined_calls(Dwarf_Die function, Budget& left) {
  std::vector<Unit::InlinedCall> calls;
  add_inlined(function, 0, 0, left, calls);
  return calls;
}

void add_calls_at(uint64_t address, const std::vector<Unit::InlinedCall>& inlined,
                  std::vector<Dwarf_Die>& calls) {
  int depth = 0;
  void* innermost = nullptr;
  for (const Unit::InlinedCall& call : inlined) {
    // Behind all that is below the innermost.
    if (call.depth < depth && call.die.addr != innermost)
      return;
    if (call.depth != depth || address < call.begin || address >= call.end)
      continue;
    calls.push_back(call.die);
    innermost = call.die.addr;
    depth++;
  }
}

}  // namespace gosym::dwarf
