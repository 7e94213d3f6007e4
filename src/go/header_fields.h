#pragma once

#include <string_view>
#include <vector>

#include "go/pclntab.h"

namespace gosym::go {

// A number at the start of a function table, as it lies there.
struct HeaderField {
  std::string_view name;
  uint64_t offset = 0;  // from the header
  uint64_t value = 0;
  bool is_count = false;  // rather than an address, an offset or a mark
};

// The header of a table (pclntab.h), whether the table can be read or not: as many of its
// fields as are there. The order of its words follows from `magic`; of an unknown one only the
// start is known. Up to Go 1.15 the place of the file table and its count, which lie behind
// functab, are part of it.
std::vector<HeaderField> header_fields(Bytes table, ByteOrder order, uint8_t pointer_size,
                                       uint32_t magic);

}  // namespace gosym::go
