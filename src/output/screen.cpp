#include "output/screen.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/width.h"

namespace gosym {

namespace {

// Uses the 16 colours only that each terminal has, and that its user chose to be readable.
std::string_view code_of(Style style) {
  switch (style) {
    case Style::kPlain:
      break;
    case Style::kTitle:
      return "1";
    case Style::kHot:
      return "31";
    case Style::kWarm:
      return "32";
    case Style::kKernel:
      return "35";
    case Style::kFaint:
      return "2";
  }
  return {};
}

}  // namespace

std::string_view bar_of(double share) {
  constexpr std::string_view kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return kBars[static_cast<size_t>(std::ceil(8 * std::clamp(share, 0.0, 1.0)))];
}

Style heat_of(double percent) {
  if (percent >= 5)
    return Style::kHot;
  return percent >= 0.5 ? Style::kWarm : Style::kPlain;
}

std::string on_screen(std::string_view lines, const Screen& screen) {
  return screen.is_ascii ? in_ascii(lines) : std::string(lines);
}

std::string styled(std::string_view text, Style style, const Screen& screen) {
  std::string_view code = code_of(style);
  if (!screen.has_colour || code.empty() || text.empty())
    return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace gosym
