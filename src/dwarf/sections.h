#pragma once

#include <libelf.h>

#include <string_view>

#include "base/bytes.h"

namespace gosym::dwarf {

// A section of a file that libdw has opened, by the last part of its name:
// "line". Empty if there is none.
Bytes debug_section(Elf* elf, std::string_view name);

}  // namespace gosym::dwarf
