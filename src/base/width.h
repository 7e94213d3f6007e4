#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gosym {

// A character of printable text.
struct Glyph {
  size_t size;   // in bytes
  size_t width;  // in columns of a terminal: 0 of one that combines with the one before
};
// The first one of text that is not empty.
Glyph first_glyph(std::string_view text);

// The character as UTF-8; empty if there is none of this number.
std::string utf8_of(char32_t character);

// Columns that printable text takes on a terminal: two for a wide character of East Asia, none
// for one that combines with the one before.
size_t display_width(std::string_view text);

// Lines of text where there is no UTF-8: as many columns, of ASCII (ascii_of()).
std::string in_ascii(std::string_view text);

// The beginning and the end of printable text with "…" between, in `width` columns at the most;
// the text itself if it fits. A third of it is of the beginning.
std::string cut_in_middle(std::string_view text, size_t width);

// The beginning of printable text with "…" behind it, likewise.
std::string cut_at_end(std::string_view text, size_t width);

// Printable text of one line broken at spaces, so that no line is wider than `width`, unless a
// word is. All but the first begin with `indent` spaces.
std::string wrapped(std::string_view line, size_t width, size_t indent);

// A function's name without the directories of its package: "promql.eval" of
// "github.com/prometheus/prometheus/promql.eval".
std::string_view without_directories(std::string_view name);

// cut_in_middle() for a function's name, whose directories go first.
std::string cut_name(std::string_view name, size_t width);

// cut_name(), but at a boundary before any word is cut: first as name_in_box() does, then in
// the middle. Spaces before the name stay.
std::string cut_function(std::string_view name, size_t width);

// A function's name where little room is: as much of it as says what it is, "json.Marshal",
// then "Marshal" of "encoding/json.Marshal". Empty where not even three letters would be left.
std::string name_in_box(std::string_view name, size_t width);

// cut_in_middle() for a path, whose outer directories go first: "promql/functions.go:98".
std::string cut_path(std::string_view path, size_t width);

}  // namespace gosym
