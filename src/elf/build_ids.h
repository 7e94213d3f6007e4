#pragma once

#include <string>

#include "elf/image.h"

namespace gosym::elf {

struct BuildIds {
  std::string gnu;  // raw bytes, usually 20; empty if there is none
  std::string go;   // text, four parts between slashes from Go 1.10 on; empty if there is none
  std::string package;  // JSON of who packaged the file (.note.package); empty if there is none
};

// The ids that a linker left in notes:
//
//   note := u32 name size, u32 description size, u32 type,
//           name (NUL at its end, padded to 4), description (padded to 4)
//
// GNU's has name "GNU" and type 3, Go's name "Go" and type 4, that of packages "FDO" and
// 0xcafe1a7e. Notes are looked for in the PT_NOTE segments and in the SHT_NOTE sections: the
// build id of a static binary of Go 1.24 and later lies outside PT_NOTE, where the kernel and
// perf do not see it.
BuildIds build_ids(const Image& image);
// Reads notes that are no part of a file: little-endian.
BuildIds build_ids(Bytes notes);

// The one id by which stores know a file, as raw bytes: GNU's, or, of a Go program that has
// none, what Go's linker makes of Go's id for one (-B gobuildid, its default since 1.24): the
// first 20 bytes of its SHA-256. Empty if there is neither.
std::string store_id(const BuildIds& ids);

// Parts of the file that build_ids looks at: 1 MiB at most, in all.
std::vector<FileExtent> note_extents(const Image& image);

}  // namespace gosym::elf
