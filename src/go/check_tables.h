#pragma once

#include <vector>

#include "go/check.h"

namespace gosym::go {

// Conditions that the parts of a program meet which its functions share:
//
//   file names   are as many as the header says
//   units        each element is ffffffff, a file that was left out, or begins a file name
//   moduledata   has the tables where the header has them; slices are full and lie in the
//                image; no end lies before its beginning; minpc and maxpc are the bounds of
//                functab
//   findfunctab  leads to the function: the runtime's index of functab, with for each 4,096
//                bytes of code from minpc on
//                    u32 base, 16 x u8
//                of which the u8 are for 256 bytes of code each. Base and u8 add up to the
//                index of the function that has the first of these bytes, or of one without
//                code that has the same entry: the runtime goes on from there
//
// Without moduledata, only what the table has itself.
std::vector<Check> check_tables(const Module& module);

}  // namespace gosym::go
