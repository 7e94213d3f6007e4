#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "go/module.h"

namespace gosym::go {

// A place in memory that an instruction names by its distance. No table of a Go program has the
// addresses of variables, but the functions of the runtime that use them say where they lie:
//
//   amd64   an operand [rip + DISTANCE]
//   arm64   adrp, and with its register add, ldr, str, ldp, stp; what add makes, ldr, str, ldar
struct CodeOperand {
  uint64_t address = 0;
  // Bytes that are moved or compared as an integer; 0: the address is taken, or what is done is
  // something else.
  uint8_t size = 0;

  auto operator<=>(const CodeOperand&) const = default;
};
using CodeOperands = std::set<CodeOperand>;

// Operands of code that lies at `address`. Empty for other machines (EM_*).
CodeOperands code_operands(uint16_t machine, Bytes code, ImageAddress address);

// Operands of functions by name, of those of the names that the module has.
std::map<std::string_view, CodeOperands> code_operands(
    const Module& module, const std::set<std::string_view>& functions);

}  // namespace gosym::go
