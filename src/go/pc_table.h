#pragma once

#include <optional>
#include <vector>

#include "go/pclntab.h"

namespace gosym::go {

// A pc-value table of a function, for one who needs all of it.
struct PcTable {
  std::vector<PcValue> rows;  // rows that lie in the function
  uint32_t end = 0;           // pc after the last row, wherever that lies
  bool is_whole = false;      // the table ended in the function

  std::optional<int32_t> at(uint32_t pc) const;
};

// The longest healthy table known has some ten thousand rows; the limit keeps memory small.
inline constexpr size_t kMaxTableRows = 1 << 18;

// `table` is the offset of a table of the function, not 0.
PcTable read_pc_table(const Pclntab& pclntab, const Function& function, uint32_t table,
                      size_t max_rows = kMaxTableRows);

}  // namespace gosym::go
