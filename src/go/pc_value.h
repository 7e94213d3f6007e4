#pragma once

#include <cstdint>
#include <optional>

#include "base/reader.h"

namespace gosym::go {

// `value` holds for every pc in [begin, end), counted in bytes from the entry of the function.
struct PcValue {
  uint32_t begin = 0;
  uint32_t end = 0;
  int32_t value = -1;
};

// Walks a pc-value table, the run-length code in which Go keeps line numbers, file numbers,
// inline indices and stack depths by program counter:
//
//   table = row*, then a zero byte
//   row   = value_delta  varint, zig-zag coded, added to the last value (before the first: -1)
//           pc_delta     varint, in units of the instruction quantum
//
// A zero value_delta ends the table, except in the first row: there it means that the value
// starts as -1, as inline-index tables often do. Values wrap as 32-bit integers.
class PcValueRows {
public:
  // `table` begins at the first row and may go on past the end of the table.
  PcValueRows(Bytes table, uint8_t quantum) : in_(table), quantum_(quantum) {}

  // The next row, which may be empty; none at the end of the table or where its bytes stop
  // making sense.
  std::optional<PcValue> next() { return advance() ? std::optional(row_) : std::nullopt; }

  // The pc at which the last row begins.
  uint32_t begin() const { return row_.begin; }
  // The value at `pc`, which must not lie before the last row; none past the end.
  std::optional<int32_t> value_at(uint32_t pc) {
    while (pc >= row_.end)
      if (!advance())
        return std::nullopt;
    return row_.value;
  }

  // True if the end was reached, and not bytes that make no sense.
  bool has_ended() const { return has_ended_; }

private:
  // Reads the next row into row_, as the format above has it; false at the end, and where bytes
  // make no sense.
  bool advance() {
    uint32_t zigzag = in_.uvarint32();
    if (zigzag == 0 && !is_first_) {
      has_ended_ = in_.ok();
      return false;
    }
    is_first_ = false;

    uint64_t end = row_.end + uint64_t{in_.uvarint32()} * quantum_;
    empty_rows_ = end == row_.end ? empty_rows_ + 1 : 0;
    if (!in_.ok() || end > UINT32_MAX || empty_rows_ > kMaxEmptyRows)
      return false;
    uint32_t delta = (zigzag >> 1) ^ -(zigzag & 1);
    row_ = {row_.end, static_cast<uint32_t>(end),
            static_cast<int32_t>(static_cast<uint32_t>(row_.value) + delta)};
    return true;
  }

  // Assembly has one now and then, for a line without code. The limit keeps a damaged table
  // from being walked through a whole file for each of its functions.
  static constexpr int kMaxEmptyRows = 64;

  Reader in_;
  uint8_t quantum_;
  bool is_first_ = true;
  bool has_ended_ = false;
  int empty_rows_ = 0;
  PcValue row_;
};

// The value at `pc`, counted from the function entry; none past the last row.
inline std::optional<int32_t> value_at(PcValueRows rows, uint32_t pc) {
  return rows.value_at(pc);
}

}  // namespace gosym::go
