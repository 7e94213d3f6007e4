#pragma once

#include <elfutils/libdw.h>
#include <tsl/robin_map.h>

#include <optional>
#include <string>
#include <vector>

#include "dwarf/dies.h"

namespace gosym::dwarf {

// The namespaces, classes and functions of a unit that functions are declared in. Compilers
// note no linker's name of functions that the linker never sees; this tells them apart. And
// some of the linker's nobody can read.
//
// Only what lies on the way to a function that is asked for is read: from each DIE to its
// sibling, past all that is below it. Units of a compiler that notes no siblings are read
// whole, once.
class Scopes {
public:
  // Of nothing.
  Scopes() = default;
  explicit Scopes(Dwarf_Die unit);

  // What is before the name of a function: "app::(anonymous namespace)::Box<int>::". Empty if
  // it is in no scope, or has a linker's name that can be read. g++ gives lambdas no name: the
  // first one in main() is "main::{lambda#1}::", as c++filt would say without its parameters.
  // What is read is taken from `left`.
  std::string prefix_of(Dwarf_Die function, Budget& left);
  // What it takes in memory, about.
  uint64_t memory_size() const;

private:
  struct Scope {
    size_t outer = 0;
    const char* name = nullptr;  // libdw owns it, but of types without a name
    void* maker = nullptr;       // the first DIE that is this scope
    // Of a type without a name: which it is of its kind in the scope around it, from 1 on.
    uint32_t number = 0;
    uint32_t lambdas = 0;  // directly in this scope
    uint32_t unnamed_types = 0;
  };
  struct Unnamed {
    bool is_lambda = false;
    uint32_t number = 0;
  };
  // Where a DIE was found.
  struct Place {
    size_t scope = 0;
    void* around = nullptr;  // the DIE, not a block, that it is in
  };
  // DIEs that scopes or functions may be, by where they lie: all those below one.
  using Children = std::vector<void*>;

  Dwarf_Die die_at(void* address) const;
  char* read_children(DieWalk walk, Dwarf_Die parent, bool is_deep, int depth);
  const Children& children_of(Budget& left, void* parent);
  std::optional<Place> find(Budget& left, void* address, int hops);
  size_t enter(Budget& left, Dwarf_Die die, Place place, int hops);
  std::optional<size_t> scope_of_declaration(Budget& left, Dwarf_Die& die, int hops);
  size_t make(Budget& left, Dwarf_Die& die, Place place);
  bool is_lambda(Budget& left, void* type);
  void number_types(Budget& left, void* around, size_t scope);
  void number_types_below(Budget& left, void* parent, size_t scope, int depth);
  static std::string text_of(const Scope& scope);

  Dwarf_Die unit_{};
  bool is_whole_ = false;      // it was read at once
  std::vector<Scope> scopes_;  // the first is that of the unit
  tsl::robin_map<void*, Children> children_;
  uint64_t child_count_ = 0;  // of all
  tsl::robin_map<void*, size_t> entered_;
  // Types without names, of the DIEs that were asked for.
  tsl::robin_map<void*, Unnamed> unnamed_;
  tsl::robin_map<void*, bool> numbered_;
};

}  // namespace gosym::dwarf
