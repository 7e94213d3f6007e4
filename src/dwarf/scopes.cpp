#include "dwarf/scopes.h"

#include <fmt/core.h>

#include "base/bytes.h"

namespace gosym::dwarf {

namespace {

bool is_call_operator(Dwarf_Die& function) {
  const char* name = dwarf_diename(&function);
  return name != nullptr && std::string_view(name) == "operator()";
}

// True if the source's name is asked for: there is none of the linker's, or that may have
// constraints of C++20, of which there are signs in it.
bool is_named_by_source(Dwarf_Die& function) {
  Dwarf_Attribute attribute;
  const char* linked = dwarf_formstring(dwarf_attr(&function, DW_AT_linkage_name, &attribute));
  if (linked == nullptr)
    return true;
  std::string_view name = linked;
  return name.find('Q') != name.npos || name.find("Tk") != name.npos;
}

}  // namespace

Scopes Scopes::read(Dwarf_Die unit, Budget& left) {
  Scopes scopes;
  scopes.scopes_.emplace_back();
  scopes.add(walk_unit(unit, left), unit, 0, 0);
  scopes.entered_ = {};
  return scopes;
}

char* Scopes::add(DieWalk walk, Dwarf_Die parent, size_t scope, int depth) {
  if (depth == kMaxDepth)
    return nullptr;
  return for_each_child(walk, parent, [&](Dwarf_Die& child) -> char* {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        if (scope != 0 && is_named_by_source(child))
          functions_[child.addr] = scope;
        [[fallthrough]];
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        if (auto inner = enter(walk, child, scope))
          return add(walk, child, *inner, depth + 1);
        return nullptr;
      case DW_TAG_lexical_block:
        return add(walk, child, scope, depth + 1);
      default:
        return nullptr;
    }
  });
}

// Once each, whatever a file says of what comes next to what.
std::optional<size_t> Scopes::enter(DieWalk walk, Dwarf_Die& die, size_t outer) {
  if (entered_.contains(die.addr))
    return std::nullopt;
  auto known = scope_of_declaration(die);
  size_t scope = known ? *known : make(walk, die, outer);
  entered_.emplace(die.addr, scope);
  return scope;
}

// Of a function that is defined outside its class.
std::optional<size_t> Scopes::scope_of_declaration(Dwarf_Die& die) const {
  Dwarf_Attribute attribute;
  Dwarf_Die declaration;
  if (dwarf_attr(&die, DW_AT_specification, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &declaration) == nullptr)
    return std::nullopt;
  auto found = entered_.find(declaration.addr);
  return found == entered_.end() ? std::nullopt : std::optional(found->second);
}

size_t Scopes::make(DieWalk walk, Dwarf_Die& die, size_t outer) {
  const char* name = dwarf_diename(&die);
  if (name == nullptr && dwarf_tag(&die) == DW_TAG_namespace)
    name = "(anonymous namespace)";
  if (name == nullptr && dwarf_tag(&die) == DW_TAG_subprogram)
    return outer;
  if (name == nullptr)
    return make_unnamed(walk, die, outer);
  scopes_.push_back({.outer = outer, .name = name});
  return scopes_.size() - 1;
}

size_t Scopes::make_unnamed(DieWalk walk, Dwarf_Die& type, size_t outer) {
  bool is_lambda = false;
  for_each_child(walk, type, [&](Dwarf_Die& child) -> char* {
    is_lambda |= dwarf_tag(&child) == DW_TAG_subprogram && is_call_operator(child);
    return nullptr;
  });
  Scope& around = scopes_[outer];
  uint32_t number = is_lambda ? ++around.lambdas : ++around.unnamed_types;
  scopes_.push_back(
      {.outer = outer, .name = is_lambda ? "lambda" : "unnamed type", .number = number});
  return scopes_.size() - 1;
}

std::string Scopes::text_of(const Scope& scope) {
  return scope.number == 0 ? start_of(scope.name)
                           : fmt::format("{{{}#{}}}", scope.name, scope.number);
}

std::string Scopes::prefix_of(Dwarf_Die function) const {
  auto found = functions_.find(function.addr);
  std::string prefix;
  for (size_t scope = found == functions_.end() ? 0 : found->second;
       scope != 0 && prefix.size() < kMaxNameSize; scope = scopes_[scope].outer)
    prefix.insert(0, text_of(scopes_[scope]) + "::");
  return prefix;
}

uint64_t Scopes::memory_size() const {
  return scopes_.size() * sizeof(Scope) +
         functions_.size() * 2 * (sizeof(void*) + sizeof(size_t));
}

}  // namespace gosym::dwarf
