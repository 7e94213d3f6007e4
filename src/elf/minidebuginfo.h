#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace gosym::elf {

// MiniDebugInfo: what distributions of the Red Hat family leave of the symbols in a stripped
// file. Its section .gnu_debugdata is an .xz file, and in that is an ELF file, whose .symtab
// has the functions that .dynsym has not, with the addresses of the stripped file. Its other
// sections are those of the stripped file without their contents.
//
// Unpacks such a section. Fails for what is not .xz, is cut short, or is too large to be meant.
Result<std::vector<std::byte>> unpack_minidebuginfo(Bytes section);

}  // namespace gosym::elf
