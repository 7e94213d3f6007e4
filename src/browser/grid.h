#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The picture that the browser draws: cells of a terminal as plain values, which tests compare
// as text.

namespace gosym::browser {

struct Size {
  size_t width = 80;
  size_t height = 24;

  bool operator==(const Size&) const = default;
};

// The meaning of a cell; the terminal chooses colours for it.
enum class Look : uint8_t {
  kPlain,
  kTitle,   // a heading
  kBar,     // the first and the last line
  kActive,  // in a bar: what is chosen
  kHot,     // as Style has them
  kWarm,
  kFaint,
  kKernel,
  kMatch,  // what was searched for
  kWarning,
  // Boxes of a flame graph.
  kGoBox,
  kRuntimeBox,  // Go's runtime
  kNativeBox,
  kKernelBox,
  kUnnamedBox,
};

struct Cell {
  // A character with what combines with it. The second column of a wide one has none.
  std::string text = " ";
  Look look = Look::kPlain;
  bool is_selected = false;

  bool operator==(const Cell&) const = default;
};

class Grid {
public:
  explicit Grid(Size size) : size_(size), cells_(size.width * size.height) {}

  Size size() const { return size_; }
  const Cell& at(size_t x, size_t y) const { return cells_[y * size_.width + x]; }

  // Writes printable text, as much of it as fits before column `limit` and the end of the line.
  // Gives the column behind it.
  size_t write(size_t x, size_t y, std::string_view text, Look look = Look::kPlain,
               size_t limit = SIZE_MAX);
  // Columns [begin, end) of a line become spaces.
  void fill(size_t y, Look look, size_t begin = 0, size_t end = SIZE_MAX);
  void select(size_t y, size_t begin = 0, size_t end = SIZE_MAX);

  // Lines without the spaces at their ends.
  std::string text() const;

private:
  Cell& cell(size_t x, size_t y) { return cells_[y * size_.width + x]; }
  // So that no half of a wide character is left where another takes its place.
  void clear(size_t x, size_t y);

  Size size_;
  std::vector<Cell> cells_;
};

}  // namespace gosym::browser
