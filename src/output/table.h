#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gosym {

// The place that text is written for: a terminal, or a file or pipe, where lines may have any
// length.
struct Screen {
  size_t width = SIZE_MAX;   // in columns; SIZE_MAX: unlimited
  size_t height = SIZE_MAX;  // in lines; likewise
  bool has_colour = false;
  bool is_ascii = false;  // the locale has no other characters

  bool has_width() const { return width != SIZE_MAX; }
};

enum class Style : uint8_t {
  kPlain,
  kTitle,   // a heading
  kHot,     // 5 % or more, as in perf
  kWarm,    // half a percent or more
  kKernel,  // a name of the kernel's
  kFaint,   // what has no name; lines of a tree
};
Style heat_of(double percent);

// A bar that fills this share, up to 1, of a line's height.
std::string_view bar_of(double share);

// Lines as they are written to it.
std::string on_screen(std::string_view lines, const Screen& screen);

// Printable text with the escape sequences of the style, or as it is on a screen without.
std::string styled(std::string_view text, Style style, const Screen& screen);

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
