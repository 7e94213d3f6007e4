#include "dwarf/scopes.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/bytes.h"

namespace gosym::dwarf {

namespace {

// A definition outside its class may be in another such, and so on: as few as anyone nests.
constexpr int kMaxHops = 16;

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

bool is_type(int tag) {
  return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

// Whether a scope, a function, or a type that is counted may be in the DIE or be it. Types
// that are only declared are most of the others.
bool may_be_scope(Dwarf_Die& die) {
  int tag = dwarf_tag(&die);
  if (tag == DW_TAG_subprogram)
    return true;
  if (tag == DW_TAG_namespace || tag == DW_TAG_lexical_block)
    return dwarf_haschildren(&die) > 0;
  return is_type(tag) && (dwarf_haschildren(&die) > 0 || dwarf_diename(&die) == nullptr);
}

// Of the first DIE of the unit that has children.
bool notes_siblings(Dwarf_Die unit, Budget& left) {
  Dwarf_Die child;
  if (dwarf_child(&unit, &child) != 0)
    return false;
  for (; left.die_bytes > 0; left.die_bytes--) {
    if (dwarf_haschildren(&child) > 0)
      return dwarf_hasattr(&child, DW_AT_sibling) != 0;
    void* before = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= before)
      return false;
  }
  return false;
}

}  // namespace

Scopes::Scopes(Dwarf_Die unit) : unit_(unit) {
  scopes_.push_back({.maker = unit.addr});
}

Dwarf_Die Scopes::die_at(void* address) const {
  Dwarf_Die die{};
  die.addr = address;
  die.cu = unit_.cu;
  return die;
}

// As for_each_child(), which it is if `is_deep`: for all that is below `parent`.
char* Scopes::read_children(DieWalk walk, Dwarf_Die parent, bool is_deep, int depth) {
  if (depth == kMaxDepth || !children_.try_emplace(parent.addr).second)
    return nullptr;
  // Each DIE is the child of one, but in files that say otherwise of what is next to what.
  uint64_t most = walk.unit_end != nullptr && walk.unit_end > unit_.addr
                      ? walk.unit_end - static_cast<char*>(unit_.addr)
                      : walk.left.die_bytes;
  Children found;
  char* behind = for_each_child(walk, parent, [&](Dwarf_Die& child) -> char* {
    if (child_count_ >= most || !may_be_scope(child))
      return nullptr;
    child_count_++;
    found.push_back(child.addr);
    bool is_read = is_deep && dwarf_haschildren(&child) > 0;
    return is_read ? read_children(walk, child, true, depth + 1) : nullptr;
  });
  found.shrink_to_fit();
  children_[parent.addr] = std::move(found);
  return behind;
}

const Scopes::Children& Scopes::children_of(Budget& left, void* parent) {
  static const Children kNone;
  if (children_.empty())
    is_whole_ = !notes_siblings(unit_, left);
  if (!children_.contains(parent) && (!is_whole_ || children_.empty()))
    read_children(walk_unit(unit_, left), die_at(is_whole_ ? unit_.addr : parent), is_whole_,
                  0);
  auto known = children_.find(parent);
  return known == children_.end() ? kNone : known->second;
}

// None if it is not below scopes and blocks only.
std::optional<Scopes::Place> Scopes::find(Budget& left, void* address, int hops) {
  Place place{.scope = 0, .around = unit_.addr};
  void* parent = unit_.addr;
  for (int depth = 0; depth < kMaxDepth; depth++) {
    const Children& children = children_of(left, parent);
    auto after = std::ranges::upper_bound(children, address);
    if (after == children.begin())
      return std::nullopt;
    parent = *std::prev(after);
    if (parent == address)
      return place;
    Dwarf_Die die = die_at(parent);
    if (dwarf_tag(&die) != DW_TAG_lexical_block)
      place = {.scope = enter(left, die, place, hops), .around = parent};
  }
  return std::nullopt;
}

size_t Scopes::enter(Budget& left, Dwarf_Die die, Place place, int hops) {
  if (auto known = entered_.find(die.addr); known != entered_.end())
    return known->second;
  auto known = scope_of_declaration(left, die, hops);
  size_t scope = known ? *known : make(left, die, place);
  entered_.emplace(die.addr, scope);
  return scope;
}

// Of a function that is defined outside its class, after it.
std::optional<size_t> Scopes::scope_of_declaration(Budget& left, Dwarf_Die& die, int hops) {
  Dwarf_Attribute attribute;
  Dwarf_Die declaration;
  if (hops == kMaxHops || dwarf_attr(&die, DW_AT_specification, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &declaration) == nullptr || declaration.cu != die.cu ||
      declaration.addr >= die.addr || dwarf_tag(&declaration) == DW_TAG_lexical_block)
    return std::nullopt;
  auto place = find(left, declaration.addr, hops + 1);
  return place ? std::optional(enter(left, declaration, *place, hops + 1)) : std::nullopt;
}

size_t Scopes::make(Budget& left, Dwarf_Die& die, Place place) {
  Scope made = {.outer = place.scope, .name = dwarf_diename(&die), .maker = die.addr};
  int tag = dwarf_tag(&die);
  if (made.name == nullptr && tag == DW_TAG_namespace)
    made.name = "(anonymous namespace)";
  if (made.name == nullptr && tag == DW_TAG_subprogram)
    return place.scope;
  if (made.name == nullptr) {
    number_types(left, place.around, place.scope);
    Unnamed unnamed = unnamed_[die.addr];
    made.name = unnamed.is_lambda ? "lambda" : "unnamed type";
    made.number = unnamed.number;
  }
  scopes_.push_back(made);
  return scopes_.size() - 1;
}

bool Scopes::is_lambda(Budget& left, void* type) {
  return std::ranges::any_of(children_of(left, type), [&](void* child) {
    Dwarf_Die die = die_at(child);
    return dwarf_tag(&die) == DW_TAG_subprogram && is_call_operator(die);
  });
}

// Of a function that is defined outside its class, those of its declaration are first.
void Scopes::number_types(Budget& left, void* around, size_t scope) {
  for (void* parent : {scopes_[scope].maker, around})
    if (numbered_.try_emplace(parent).second)
      number_types_below(left, parent, scope, 0);
}

void Scopes::number_types_below(Budget& left, void* parent, size_t scope, int depth) {
  if (depth == kMaxDepth)
    return;
  // A copy: what is read below moves them.
  Children children = children_of(left, parent);
  for (void* child : children) {
    Dwarf_Die die = die_at(child);
    int tag = dwarf_tag(&die);
    if (tag == DW_TAG_lexical_block)
      number_types_below(left, child, scope, depth + 1);
    if (!is_type(tag) || dwarf_diename(&die) != nullptr || unnamed_.contains(child))
      continue;
    bool lambda = is_lambda(left, child);
    uint32_t& count = lambda ? scopes_[scope].lambdas : scopes_[scope].unnamed_types;
    unnamed_[child] = {.is_lambda = lambda, .number = ++count};
  }
}

std::string Scopes::text_of(const Scope& scope) {
  return scope.number == 0 ? start_of(scope.name)
                           : fmt::format("{{{}#{}}}", scope.name, scope.number);
}

std::string Scopes::prefix_of(Dwarf_Die function, Budget& left) {
  if (unit_.addr == nullptr || dwarf_tag(&function) != DW_TAG_subprogram ||
      !is_named_by_source(function))
    return {};
  auto place = find(left, function.addr, 0);
  std::string prefix;
  for (size_t scope = place ? place->scope : 0; scope != 0 && prefix.size() < kMaxNameSize;
       scope = scopes_[scope].outer)
    prefix.insert(0, text_of(scopes_[scope]) + "::");
  return prefix;
}

uint64_t Scopes::memory_size() const {
  // Tables of tsl are at least a quarter full, mostly half.
  return scopes_.size() * sizeof(Scope) + child_count_ * sizeof(void*) +
         2 * (children_.size() * (sizeof(Children) + 2 * sizeof(void*)) +
              (entered_.size() + unnamed_.size()) * 3 * sizeof(void*));
}

}  // namespace gosym::dwarf
