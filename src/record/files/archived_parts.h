#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "elf/image.h"
#include "record/files/image_catalog.h"

namespace gosym {

// A file may be kept with its initial data, which names no code and may have secrets.
enum class ArchivedData : uint8_t { kKept, kLeftOut };

// Parts of a file that are kept in a recording, so that its code is named, and callers are
// found in it, as with the whole file.
struct ArchivedParts {
  std::vector<elf::FileExtent> extents;  // by offset, none touches another; at least one
  uint64_t size = 0;                     // of all extents, in bytes
  // File offsets of the field sh_type in headers of sections that are not kept, in order: each
  // has to become SHT_NOBITS, or zeros would be read as the contents.
  std::vector<uint64_t> hidden_types;
  std::string problem;  // says what is missing that would name code; empty: nothing
};

// Kept are the headers, what is loaded (code, the tables of Go, .eh_frame, .dynsym), symbol
// tables, notes, what leads to a separate debug file, and debugging information. This is left
// out of Go programs without C code, whose function table says more, and of files that would be
// larger than `limit` with it. Fails if they are larger without it.
//
// Nothing of `left_out`, which is by offset, is kept.
Result<ArchivedParts> archived_parts(const elf::Image& image, uint64_t limit,
                                     const std::vector<elf::FileExtent>& left_out = {});

// The places of a file's initial data, by offset: sections such as .data and .noptrdata. The
// runtime's own record in a Go program, which leads from its function table to its code, is
// none of them. Fails if nothing tells data from the rest.
Result<std::vector<elf::FileExtent>> data_parts(const elf::Image& image,
                                                const SparseCopy& file);

}  // namespace gosym
