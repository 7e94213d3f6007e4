#pragma once

#include <libelf.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "elf/image.h"

namespace gosym::dwarf {

// What all sections of debugging information take when unpacked; none if that is more than any
// program needs. Only their headers are believed: libelf refuses what unpacks to more.
std::optional<uint64_t> unpacked_size(const elf::Image& image);

// A section of a file that libdw has opened, and unpacked, by the last part of its name:
// "line". Empty if there is none.
Bytes debug_section(Elf* elf, std::string_view name);

}  // namespace gosym::dwarf
