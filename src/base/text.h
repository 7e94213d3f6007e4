#pragma once

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

// Cuts off and returns the text before the first newline; all of it when there is none.
std::string_view take_line(std::string_view& text);

// Cuts off leading spaces and tabs, then cuts off and returns what comes before the next one.
std::string_view take_word(std::string_view& text);

}  // namespace gosym
