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
class Scopes {
public:
  static Scopes read(Dwarf_Die unit, Budget& left);

  // What is before the name of a function: "app::(anonymous namespace)::Box<int>::". Empty if
  // it is in no scope, or has a linker's name that can be read. g++ gives lambdas no name: the
  // first one in main() is "main::{lambda#1}::", as c++filt would say without its parameters.
  std::string prefix_of(Dwarf_Die function) const;
  // What it takes in memory, about.
  uint64_t memory_size() const;

private:
  struct Scope {
    size_t outer = 0;
    const char* name = nullptr;  // libdw owns it, but of types without a name
    // Of a type without a name: which it is of its kind in the scope around it, from 1 on.
    uint32_t number = 0;
    uint32_t lambdas = 0;  // directly in this scope
    uint32_t unnamed_types = 0;
  };

  char* add(DieWalk walk, Dwarf_Die parent, size_t scope, int depth);
  std::optional<size_t> enter(DieWalk walk, Dwarf_Die& die, size_t outer);
  std::optional<size_t> scope_of_declaration(Dwarf_Die& die) const;
  size_t make(DieWalk walk, Dwarf_Die& die, size_t outer);
  size_t make_unnamed(DieWalk walk, Dwarf_Die& type, size_t outer);
  static std::string text_of(const Scope& scope);

  std::vector<Scope> scopes_;  // the first is that of the unit
  tsl::robin_map<void*, size_t> functions_;
  tsl::robin_map<void*, size_t> entered_;  // while it is read: the scope of each DIE
};

}  // namespace gosym::dwarf
