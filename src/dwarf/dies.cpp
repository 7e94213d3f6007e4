#include "dwarf/dies.h"

namespace gosym::dwarf {

namespace {

// Null if it is not known.
const char* end_of_unit(Dwarf_Die die) {
  Dwarf_Half version = 0;
  uint8_t type = 0;
  Dwarf_Die unit;
  if (dwarf_cu_info(die.cu, &version, &type, &unit, nullptr, nullptr, nullptr, nullptr) != 0)
    return nullptr;
  // Before DWARF 5 types have a section of their own.
  bool is_elsewhere = version < 5 && (type == DW_UT_type || type == DW_UT_split_type);
  if (unit.addr == nullptr || is_elsewhere)
    return nullptr;
  Dwarf_Off header_size = dwarf_cuoffset(&unit);
  Dwarf_Off begin = dwarf_dieoffset(&unit) - header_size;
  Dwarf_Off end = 0;
  if (dwarf_next_unit(dwarf_cu_getdwarf(die.cu), begin, &end, nullptr, nullptr, nullptr,
                      nullptr, nullptr, nullptr, nullptr) != 0)
    return nullptr;
  return static_cast<const char*>(unit.addr) - header_size + (end - begin);
}

}  // namespace

DieWalk walk_unit(Dwarf_Die die, Budget& left) {
  return {.left = left, .unit_end = end_of_unit(die)};
}

}  // namespace gosym::dwarf
