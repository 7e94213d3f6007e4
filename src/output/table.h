#pragma once

#include <string>
#include <vector>

#include "output/screen.h"

namespace gosym {

// Rows of text under titles, to be written in several forms.
struct Table {
  enum class Kind : uint8_t {
    kNumber,
    kName,      // cut in the middle where it is too long for a screen
    kFunction,  // a name that is cut between its parts first
    kPath,      // cut at the beginning
    kText,      // short, never cut
  };
  struct Column {
    std::string title;
    Kind kind = Kind::kNumber;
  };
  struct Cell {
    std::string text;  // printable
    Style style = Style::kPlain;
  };
  using Row = std::vector<Cell>;  // one a column

  std::vector<Column> columns;
  std::vector<Row> rows;
};

// In columns that are as wide as their longest cell, but no line is wider than the screen.
std::string text_of(const Table& table, const Screen& screen);
// RFC 4180, with a line of titles. Text that a spreadsheet would take for a formula has a
// single quote before it.
std::string csv_of(const Table& table);
std::string markdown_of(const Table& table);

}  // namespace gosym
