#pragma once

#include <vector>

#include "go/module.h"

namespace gosym::go {

// Places where runtime.allgs may lie, the slice of all goroutines that a program ever had at a
// time: three words, the address of an array of pointers to g (runtime_layout.h), its length
// and its capacity. Goroutines that have ended stay in it, to be used again.
//
// runtime.allgadd reads and writes all three words of this one, each by an instruction that
// names it by its distance (code_operands.h).
//
// Places of three such words in a row are given; what else lies next to them makes it more than
// one. Empty if the function is not there. Which of them it is its value tells.
std::vector<ImageAddress> find_allgs(const Module& module);

// Searches the code of runtime.allgadd, which lies at `address`.
std::vector<ImageAddress> find_allgs(uint16_t machine, Bytes code, ImageAddress address);

}  // namespace gosym::go
