#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace gosym
