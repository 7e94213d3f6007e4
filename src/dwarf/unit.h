#pragma once

#include <elfutils/libdw.h>
#include <tsl/robin_map.h>

#include <string>
#include <string_view>
#include <vector>

#include "dwarf/dies.h"
#include "dwarf/line_table.h"

namespace gosym::dwarf {

// One unit of debugging information, as far as look-ups need it.
struct Unit {
  struct Function {
    uint64_t begin = 0;
    uint64_t end = 0;
    Dwarf_Die die{};
  };
  // A piece of the code of an inlined call. Those inlined into it follow, one deeper.
  struct InlinedCall {
    uint64_t begin = 0;
    uint64_t end = 0;
    int depth = 0;
    Dwarf_Die die{};
  };

  std::string directory;             // where the compiler was run
  std::vector<Function> functions;   // by begin
  const LineTable* lines = nullptr;  // null if there is none
  const LineTable* files = nullptr;  // whose numbers the calls have
  // Reads the range lists if the unit is from a package; else null.
  const RangeSource* ranges = nullptr;
  bool lacks_split = false;  // what was split off is not there
  // Of the functions that were asked for.
  tsl::robin_map<void*, std::vector<InlinedCall>> inlined;
  // Made of the numbers of `files` and `lines` when they were asked for.
  tsl::robin_map<uint64_t, std::string_view> call_paths;
  tsl::robin_map<uint64_t, std::string_view> line_paths;

  // The innermost function at an address; null if there is none. Functions may lie in others,
  // as in D and Ada.
  const Function* function_at(uint64_t address) const;
};

// All functions below `die`.
std::vector<Unit::Function> read_functions(Dwarf_Die die, const RangeSource* ranges,
                                           Budget& left);

// All calls inlined into a function.
std::vector<Unit::InlinedCall> read_inlined_calls(Dwarf_Die function, const RangeSource* ranges,
                                                  Budget& left);

// Appends those of the calls that an address lies in, outermost first.
void add_calls_at(uint64_t address, const std::vector<Unit::InlinedCall>& inlined,
                  std::vector<Dwarf_Die>& calls);

}  // namespace gosym::dwarf
