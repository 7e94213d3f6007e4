#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "elf/image.h"

namespace gosym::dwarf {

// One unit of a package: its part of each section, and the texts, which all units share.
struct PackagedParts {
  Bytes info;
  Bytes abbreviations;
  Bytes lines;
  Bytes text_offsets;
  Bytes ranges;  // .debug_rnglists, of DWARF 5
  Bytes texts;
};

// The units that a linker or `dwp` has put together of files .dwo, PROGRAM.dwp. Its index,
// .debug_cu_index, tells them apart by the id that the program has of each (DWARF 5, 7.3.5):
//
// - the header: of version 5 u16 5 and u16 0, of GNU's for DWARF 4 u32 2; then u32 each, the
//   numbers of columns, units and slots
// - for each slot u64, the id of a unit, and behind all of them u32 each, its row from 1 on;
//   0: the slot is not used
// - for each column u32, the kind of section that it is of
// - for each unit, and in it for each column, u32, the offset of its part of the section
// - the same of sizes, u32
//
// Borrows from the image.
class Package {
public:
  // Fails for a file without an index, and for a damaged one.
  static Result<Package> read(const elf::Image& image);

  std::optional<PackagedParts> find(uint64_t id) const;
  bool has(uint64_t id) const { return rows_.contains(id); }

private:
  // By the number that the index has of their kind.
  static constexpr size_t kKinds = 9;
  using Sections = std::array<Bytes, kKinds>;

  uint32_t version_ = 0;
  Sections sections_;
  Bytes texts_;
  std::map<uint64_t, Sections> rows_;  // by id
};

}  // namespace gosym::dwarf
