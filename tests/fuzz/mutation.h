#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "elf/image.h"

namespace gosym {

// A kind of table in a binary that mutations aim at, wherever pieces of it lie: a few bytes of
// damage at random places of a file would hardly ever meet a table's fields.
struct Target {
  std::string name;
  std::vector<elf::FileExtent> extents;
  bool is_packed = false;  // its fields have no alignment
};

// A whole file, and what is needed to damage it where it hurts.
struct Original {
  Bytes file;
  ByteOrder order = ByteOrder::kLittle;
  std::vector<Target> targets;    // none is empty
  std::vector<uint64_t> borders;  // addresses and offsets at which its parts begin or end
};

// A file that is not ELF is taken for a perf map. Fails if a Go program is damaged: then most
// of the targets would be missing.
Result<Original> study(Bytes file);

struct Mutant {
  std::vector<std::byte> file;  // of exactly its size, so that a sanitizer sees a read past it
  std::string description;      // "functab at 0x1234: 4 bytes 0x10 -> 0xffffffff; cut to 0x99"
};

// The mutant that the numbers say: the same for ever, whatever else is made.
Mutant make_mutant(const Original& original, uint64_t seed, uint64_t number);

}  // namespace gosym
