#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "page_schema.h"

// The message Page of page.proto as plain values, which page_schema.h has: its tables are
// columns here as there, but of the values themselves where the message has differences. A
// column but the first that holds nothing but zeros may be empty.

namespace gosym::page {

using Column = std::vector<uint32_t>;

// The length that the columns of a table have in common. An error if they have none.
template <class Table>
Result<size_t> rows_of(std::string_view name, const Table& table) {
  size_t rows = 0;
  for_each_column(table, [&](std::string_view, const auto& column) {
    rows = std::max(rows, column.size());
  });
  bool fits = true;
  for_each_column(table, [&](std::string_view, const auto& column) {
    fits = fits && (column.empty() || column.size() == rows);
  });
  if (!fits)
    return errorf("{}: columns of different lengths", name);
  return rows;
}

// A column of the table by its name in page.proto; null if there is none. The table is Owners,
// whose columns are all of the type of `event`.
template <class Table>
auto* column_of(Table& table, std::string_view wanted) {
  decltype(&table.event) found = nullptr;
  for_each_column(table, [&](std::string_view name, auto& column) {
    if (name == wanted)
      found = &column;
  });
  return found;
}

inline constexpr uint32_t kVersion = 1;

std::string encode(Page page);

// The page in the message; whether its numbers fit together is not checked. An error: malformed
// bytes, another version.
Result<Page> decode(Bytes message);

// Makes the columns of a page those of page.proto: many of them as differences from what is
// likely, of which most are 0.
void shorten(Page& page);

// The other way. An error: columns of a table that differ in length.
Result<> restore(Page& page);

// The raw DEFLATE of some bytes as text, in lines. Bits, the lowest of the first byte first,
// are taken 13 at a time, and are two digits of base 91, the higher one first; up to 6 at the
// end are one. That is 1.23 times as long as the bytes (base64: 1.33), of characters that mean
// nothing to HTML.
std::string packed(std::string_view bytes);

// The bytes. An error: what is no such text, or more than so many bytes.
Result<std::string> unpacked(std::string_view text, uint64_t max_size);

}  // namespace gosym::page
