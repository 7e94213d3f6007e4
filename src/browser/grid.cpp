#include "browser/grid.h"

#include <algorithm>

#include "base/text.h"

// A wide character takes two cells, of which the second has an empty text (Cell).
namespace gosym::browser {

namespace {

// More would be drawn over each other, and a name may have thousands.
constexpr size_t kMaxCombined = 16;  // in bytes

}  // namespace

void Grid::clear(size_t x, size_t y) {
  if (cell(x, y).text.empty() && x > 0)
    cell(x - 1, y).text = " ";
  if (x + 1 < size_.width && cell(x + 1, y).text.empty())
    cell(x + 1, y).text = " ";
}

size_t Grid::write(size_t x, size_t y, std::string_view text, Look look, size_t limit) {
  limit = std::min(limit, size_.width);
  if (y >= size_.height)
    return x;
  size_t begin = x;
  while (!text.empty()) {
    Glyph glyph = first_glyph(text);
    std::string_view character = text.substr(0, glyph.size);
    text.remove_prefix(glyph.size);
    // A combining character belongs to the one before it, which may be two cells wide. At the
    // beginning of the text there is none, and it is left out.
    if (glyph.width == 0) {
      size_t last = x;
      while (last > begin && cell(last - 1, y).text.empty())
        last--;
      if (last > begin && cell(last - 1, y).text.size() + glyph.size <= kMaxCombined)
        cell(last - 1, y).text += character;
      continue;
    }
    // A wide character is not cut in halves: it does not fit.
    if (x + glyph.width > limit)
      break;
    for (size_t i = 0; i < glyph.width; i++) {
      // Half of a wide character cannot stay: its other cell is cleared as well.
      clear(x + i, y);
      cell(x + i, y) = {i == 0 ? std::string(character) : std::string(), look};
    }
    x += glyph.width;
  }
  return x;
}

void Grid::fill(size_t y, Look look, size_t begin, size_t end) {
  if (y >= size_.height)
    return;
  for (size_t x = begin; x < std::min(end, size_.width); x++) {
    clear(x, y);
    cell(x, y) = {" ", look};
  }
}

void Grid::select(size_t y, size_t begin, size_t end) {
  if (y >= size_.height)
    return;
  for (size_t x = begin; x < std::min(end, size_.width); x++)
    cell(x, y).is_selected = true;
}

std::string Grid::text() const {
  std::string all;
  for (size_t y = 0; y < size_.height; y++) {
    std::string line;
    for (size_t x = 0; x < size_.width; x++)
      line += at(x, y).text;
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + '\n';
  }
  return all;
}

}  // namespace gosym::browser
