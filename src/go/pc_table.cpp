#include "go/pc_table.h"

#include <algorithm>

namespace gosym::go {

std::optional<int32_t> PcTable::at(uint32_t pc) const {
  auto row = std::ranges::upper_bound(rows, pc, {}, &PcValue::end);
  return row == rows.end() ? std::nullopt : std::optional(row->value);
}

PcTable read_pc_table(const Pclntab& pclntab, const Function& function, uint32_t table,
                      size_t max_rows) {
  PcTable result;
  PcValueRows rows = pclntab.rows(table);
  while (auto row = rows.next()) {
    result.end = row->end;
    if (row->end > function.end - function.entry || result.rows.size() == max_rows)
      return result;
    result.rows.push_back(*row);
  }
  result.is_whole = rows.has_ended();
  return result;
}

}  // namespace gosym::go
