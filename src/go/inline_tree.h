#pragma once

#include <optional>
#include <vector>

#include "go/module.h"
#include "model/call.h"

namespace gosym::go {

// The calls inlined into a function form a tree. It lies in the funcdata of the function; the
// entry that holds for a pc is in a pcdata table, -1 where nothing is inlined.
//
//              pcdata  funcdata  entry
//   1.9-1.11      1       2      i32 parent, i32 file, i32 line, i32 name
//   1.12          1       2      i16 parent, u8 function id, u8 0, i32 file, i32 line,
//   1.13-1.15     2       4          i32 name, i32 parent pc
//   1.16-1.19     2       3      the same
//   1.20-         2       3      u8 function id, 3 x u8 0, i32 name, i32 parent pc,
//                                    i32 start line
//
// The parent pc, from the function's entry, lies in the call: file, line and the next entry
// outwards are those of that pc. Up to 1.19 the entry has them too, and the next entry as
// parent, -1 for none; where the two differ the runtime goes by the parent pc. An entry comes
// after its parent.
struct InlinedCall {
  uint32_t name = 0;  // offset
  uint8_t id = 0;     // see Function::id; 0 before Go 1.12
  uint32_t start_line = 0;
  uint32_t parent_pc = 0;
  // Up to Go 1.19, and all there is up to 1.11:
  int32_t parent = -1;
  int32_t file = 0;
  int32_t line = 0;
};

// The tree of a function; empty if it has none.
Bytes inline_tree_of(const Module& module, const Function& function);
std::optional<InlinedCall> read_inlined_call(const Pclntab& table, Bytes tree, uint32_t index);
// The pcdata table with the index of each pc; none if nothing is inlined.
std::optional<uint32_t> inline_index_table(const Pclntab& table, const Function& function);

// Appends the calls at an address, innermost first: inlined ones, then the function that has
// the code. False, and nothing appended, if no Go function is there.
//
// A tree that cannot be read leaves the function without a line: that there is belongs to a
// function we cannot name.
bool find_calls(const Module& module, ImageAddress address, std::vector<Call>& calls);

// Positions of walks through the tables of a module.
struct PositionWalk {
  PcValueWalk files;
  PcValueWalk lines;
  PcValueWalk indices;
};
struct CallWalk {
  std::optional<Function> function;  // at the last address: the next one mostly lies in it too
  PositionWalk innermost;
  PositionWalk callers;  // callers of inlined calls: mostly a little before
};
// Finds the same, and faster where addresses come in order. The walk is for this module alone.
bool find_calls(const Module& module, ImageAddress address, std::vector<Call>& calls,
                CallWalk& walk);
// Finds the same at a pc of a function that is known already.
bool find_calls(const Module& module, const Function& function, uint64_t pc,
                std::vector<Call>& calls, CallWalk& walk);

}  // namespace gosym::go
