#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gosym {

// True if the text is ASCII without controls, as most text is: printable and valid unchanged.
bool is_plain(std::string_view text);

// Text from outside, made safe for a terminal: controls, bytes that are not UTF-8, and
// characters of Unicode that reorder a line or that nobody sees become \xNN. The rest stays as
// it is.
std::string printable(std::string_view text);
// Avoids a copy if the text is printable: returns the text itself, or else `room`.
std::string_view printable(std::string_view text, std::string& room);
// ASCII for one character, with what combines with it, where there is no UTF-8.
char ascii_of(std::string_view character);
// True if printable() would not change it.
bool is_printable(std::string_view text);

// Text from outside as UTF-8: a byte that is not part of a character becomes U+FFFD.
std::string valid_utf8(std::string_view text);

// True if a byte of UTF-8 is part of a character that an earlier byte begins.
constexpr bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xc0) == 0x80;
}
// The beginning of a text that has more than `most` bytes, cut where a character begins.
std::string_view beginning_of(std::string_view text, size_t most);

// Lower case, two digits a byte.
std::string hex(std::string_view bytes);

// Quicker than any format, for output of a hundred thousand lines.
void append_number(uint64_t number, int base, std::string& text);

// 311 B, 4.1 KiB, 73.2 MiB.
std::string human_size(uint64_t bytes);

// 29,412.
std::string with_commas(uint64_t count);
// "1 sample", "1,024 samples".
std::string count_text(uint64_t count, std::string_view thing);

// "4a1b20" or "0x4a1b20"; none for anything else, a sign or white space included.
std::optional<uint64_t> parse_hex(std::string_view text);

// All digits, and not past 2^64 - 1.
std::optional<uint64_t> parse_decimal(std::string_view text);

// "10", "10s", "1.5s", "200ms", "2m", "1h": nanoseconds. None for anything else, or beyond a
// year.
std::optional<uint64_t> parse_duration(std::string_view text);

// "500", "500K", "1.5M", "2G", "2GiB": bytes, in units of 1024. None for anything else, or from
// 2^63 on.
std::optional<uint64_t> parse_size(std::string_view text);

// The part after the last slash.
std::string_view base_name(std::string_view path);

// The pieces between separators; no text has one piece, which is empty.
std::vector<std::string_view> split(std::string_view text, char separator);

// The items with the separator between them. Not fmt::join, with which a file takes two seconds
// more to compile.
std::string joined(std::span<const std::string> items, std::string_view separator);
// "one, two, three and 4 more", or another text before the number: three are named of many.
std::string first_of(std::span<const std::string> items,
                     std::string_view before_rest = " and ");

// Cuts off and returns the text before the first newline; all of it when there is none.
std::string_view take_line(std::string_view& text);

// Cuts off leading spaces and tabs, then cuts off and returns what comes before the next one.
std::string_view take_word(std::string_view& text);

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

// Text from outside as one word of a shell's command line, to be shown and copied: as it is, or
// in quotes where a shell would not take it for that. What printable() does not let pass is
// escaped in $'...', as bash, ksh and zsh read it.
std::string shell_quoted(std::string_view text);

// A path as programs take it for one on their command line, also where it begins as an option.
std::string as_operand(std::string_view path);

// The exit status of a child that waitpid(2) told of, as a shell has it: 128 and the number of
// the signal where one ended it.
int exit_status_of(int wait_status);

// A variable of the environment; empty: it is not set.
std::string environment(const char* name);

}  // namespace gosym
