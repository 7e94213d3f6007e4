#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "elf/image.h"
#include "go/pclntab.h"

namespace gosym::go {

// One Go module: a function table, and the two addresses that give it a place in the image.
//
// The runtime keeps them in a record of words, runtime.firstmoduledata. It lies in writable
// data: alone in the section .go.module from Go 1.26 on, before that anywhere; its first word
// is the address of the pclntab header. The words that matter here, by number:
//
//                          1.18, 1.19   1.20-1.25   1.26   1.27
//   pclntab header              0           0          0      0
//   length of the function
//   table, in pairs, plus 1    17          17         17     17
//   minpc, maxpc            20, 21      20, 21     20, 21  20, 21
//   text, etext             22, 23      22, 23     22, 23  22, 23
//   types                      35          37         37     37
//   gofunc                     38          40         40     43
//   end of pclntab              -           -         41     44
//
// From 1.26 on gofunc lies between the header and the end of pclntab, which tells 1.26
// from 1.27. `text` is the base of all pcs of the table; up to 1.25 the header has it too.
// `gofunc` is the base of funcdata, and with it of the inline trees.
struct Module {
  Pclntab table;
  ImageAddress table_address{};
  ImageAddress text{};
  // The bytes from gofunc on; empty if it is not known: then no inlined call is found.
  Bytes gofunc{};
  std::string found_by{};  // "section .gopclntab", "scan of the segments"
};

// None if the image has no Go function table; an error if it has one that cannot be used.
Result<std::optional<Module>> read_module(const elf::Image& image);

// Appends the calls at an address, innermost first: inlined ones, then the function that has
// the code. False, and nothing appended, if no Go function is there. The inline tree of a
// function is found by funcdata 3, the index into it of a pc by pcdata 2. An entry has
//
//   1.18, 1.19:  i16 parent, u8 function id, u8 0, i32 file, i32 line, i32 name, i32 parent pc
//   1.20-1.27:   u8 function id, 3 x u8 0, i32 name, i32 parent pc, i32 start line
//
// In the old form file and line are those of the call, and parent is the next entry outwards or
// -1; start lines are those of the functions' entries. In the new form the parent pc, from the
// function's entry, lies in the call: file, line and the next index are those of that pc.
bool find_calls(const Module& module, ImageAddress address, std::vector<Call>& calls);

}  // namespace gosym::go
