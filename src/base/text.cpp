#include "base/text.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace gosym {

namespace {

struct Decoded {
  uint32_t code_point;
  size_t size;  // 0: not UTF-8
};

// The first character of a text that is not empty, in strict UTF-8 (RFC 3629: no overlong
// forms, no surrogates, up to U+10FFFF).
Decoded decode_utf8(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  // The lead byte tells the size. 0x80 to 0xc1 begin no character: they are continuations, or
  // would spell ASCII with two bytes; above 0xf4 lie characters that Unicode does not have.
  uint8_t lead = byte(0);
  if (lead < 0x80)
    return {lead, 1};
  size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size)
    return {0, 0};
  // A lead byte of n ones and a zero leaves 7 - n bits for the character.
  uint32_t code_point = lead & (0x7fu >> size);
  for (size_t i = 1; i < size; i++) {
    if (!continues_character(text[i]))
      return {0, 0};
    code_point = code_point << 6 | (byte(i) & 0x3fu);
  }
  // The smallest character of each size: a smaller one has a shorter form, and a second
  // spelling of "/" or NUL could pass a check.
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool is_surrogate = code_point >= 0xd800 && code_point < 0xe000;
  if (code_point < kSmallest[size] || is_surrogate || code_point > 0x10ffff)
    return {0, 0};
  return {code_point, size};
}

struct CodePoints {
  uint32_t first;
  uint32_t last;
};

// C0, DEL and C1 controls, line separators, the marks, embeddings and isolates that change the
// direction of what follows them on the line, and all others that are not shown
// (Default_Ignorable_Code_Point and Bidi_Control of Unicode 15): two names that differ in one
// of these look the same.
constexpr CodePoints kUnseen[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x061c, 0x061c}, {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},   {0x2800, 0x2800},
    {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool is_unseen(uint32_t c) {
  auto next = std::ranges::lower_bound(kUnseen, c, {}, &CodePoints::last);
  return next != std::end(kUnseen) && next->first <= c;
}

// True if some of the eight bytes at `text` are controls, or not ASCII. A carry from one byte
// into the next can come only from a byte that is.
bool has_unplain(const char* text) {
  constexpr uint64_t kEach = 0x0101010101010101;
  uint64_t bytes;
  std::memcpy(&bytes, text, sizeof(bytes));
  // Bit 7 of a byte is set by the byte itself beyond ASCII, by the sum for 0x7f, and by the
  // difference below 0x20.
  return ((bytes | (bytes + kEach) | (bytes - 0x20 * kEach)) & 0x80 * kEach) != 0;
}

}  // namespace

// Eight bytes at once, the last of which may be looked at twice: byte by byte it was a fifth of
// the instructions of `inspect --functions`.
bool is_plain(std::string_view text) {
  constexpr size_t kStep = 8;
  if (text.size() < kStep)
    return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
  size_t last = text.size() - kStep;
  for (size_t i = 0; i < last; i += kStep)
    if (has_unplain(text.data() + i))
      return false;
  return !has_unplain(text.data() + last);
}

std::string printable(std::string_view text) {
  if (is_plain(text))
    return std::string(text);
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto [code_point, size] = decode_utf8(text);
    // A byte that is not UTF-8 is written by itself, so that decoding goes on with the next
    // one.
    size_t taken = size == 0 ? 1 : size;
    if (size != 0 && !is_unseen(code_point)) {
      result += text.substr(0, size);
    } else {
      for (char c : text.substr(0, taken))
        result += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
    text.remove_prefix(taken);
  }
  return result;
}

std::string_view printable(std::string_view text, std::string& room) {
  return is_plain(text) ? text : room = printable(text);
}

char ascii_of(std::string_view character) {
  struct Pair {
    std::string_view text;
    char ascii;
  };
  // The characters that gosym itself writes, with ASCII that looks about like them.
  static constexpr Pair kPairs[] = {
      {"│", '|'}, {"├", '|'}, {"└", '`'}, {"┌", '+'}, {"┐", '+'}, {"┘", '+'}, {"─", '-'},
      {"▏", '|'}, {"▁", '.'}, {"▂", '.'}, {"▃", ':'}, {"▄", ':'}, {"▅", '+'}, {"▆", '+'},
      {"▇", '#'}, {"█", '#'}, {"…", '~'}, {"·", '-'}, {"←", '<'}, {"→", '>'}, {"↑", '^'},
      {"↓", 'v'}, {"×", 'x'}, {"−", '-'}, {"µ", 'u'}, {"±", '~'}, {"≈", '~'}};
  if (character.empty())
    return ' ';
  if (static_cast<uint8_t>(character[0]) < 0x80)
    return character[0];
  const auto* found = std::ranges::find(kPairs, character, &Pair::text);
  return found == std::end(kPairs) ? '?' : found->ascii;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    auto [code_point, size] = decode_utf8(text);
    if (size == 0 || is_unseen(code_point))
      return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  if (is_plain(text))
    return std::string(text);
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    size_t size = decode_utf8(text).size;
    result += size == 0 ? "\ufffd" : text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return result;
}

std::string_view beginning_of(std::string_view text, size_t most) {
  // A character has up to three bytes that continue it. Text that is not UTF-8 is cut after at
  // most as many steps.
  constexpr size_t kMaxContinued = 3;
  // Whoever asks has seen that the text is longer: there is a byte at `most`.
  size_t size = most;
  for (size_t i = 0; i < kMaxContinued && size > 0 && continues_character(text[size]); i++)
    size--;
  return text.substr(0, size);
}

std::string hex(std::string_view bytes) {
  std::string result;
  for (char c : bytes)
    result += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return result;
}

void append_number(uint64_t number, int base, std::string& text) {
  std::array<char, 64> digits;  // base 2 takes all
  auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
  text.append(digits.data(), static_cast<size_t>(end - digits.data()));
}

std::string human_size(uint64_t bytes) {
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would be rounded to 1024.0.
  for (; size >= 1023.95 && unit + 1 < kUnits.size(); unit++)
    size /= 1024;
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string with_commas(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t i = digits.size(); i > 3; i -= 3)
    digits.insert(i - 3, ",");
  return digits;
}

std::string count_text(uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", with_commas(count), thing, count == 1 ? "" : "s");
}

namespace {

std::optional<uint64_t> parse_integer(std::string_view text, int base) {
  uint64_t value = 0;
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  // std::from_chars() takes neither a sign nor white space before an unsigned number. Without
  // any digits, and past 64 bits, it reports a problem.
  if (problem != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<uint64_t> parse_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X"))
    text.remove_prefix(2);
  return parse_integer(text, 16);
}

std::optional<uint64_t> parse_decimal(std::string_view text) {
  return parse_integer(text, 10);
}

std::optional<uint64_t> parse_duration(std::string_view text) {
  double number = 0;
  auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (problem != std::errc())
    return std::nullopt;

  struct Unit {
    std::string_view name;
    double nanoseconds;
  };
  static constexpr Unit kUnits[] = {{"", 1e9},   {"s", 1e9},    {"ms", 1e6}, {"us", 1e3},
                                    {"m", 60e9}, {"h", 3600e9}, {"ns", 1}};
  std::string_view name = text.substr(static_cast<size_t>(end - text.data()));
  // No unit means seconds. The number is not negative and not huge before it is rounded, which
  // is undefined outside of 64 bits; "nan" fails both comparisons.
  for (const Unit& unit : kUnits) {
    constexpr double kYear = 366 * 86400e9;
    double nanoseconds = number * unit.nanoseconds;
    if (name == unit.name && nanoseconds >= 0 && nanoseconds <= kYear)
      return static_cast<uint64_t>(std::llround(nanoseconds));
  }
  return std::nullopt;
}

std::optional<uint64_t> parse_size(std::string_view text) {
  double number = 0;
  auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  // Without a number `end` is the begin of the text, and the error is returned below.
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (problem != std::errc() || number < 0)
    return std::nullopt;
  constexpr std::string_view kUnits = "KMGT";
  double factor = 1;
  if (!unit.empty()) {
    size_t power = kUnits.find(unit.front());
    if (power == kUnits.npos || (!unit.substr(1).empty() && unit.substr(1) != "iB"))
      return std::nullopt;
    factor = std::ldexp(1024.0, static_cast<int>(10 * power));
  }
  // A little below 2^63, which std::llround() cannot return.
  constexpr double kLimit = 9.2e18;
  double size = number * factor;
  return size < kLimit ? std::optional(static_cast<uint64_t>(std::llround(size)))
                       : std::nullopt;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string joined(std::span<const std::string> items, std::string_view separator) {
  std::string text;
  for (const std::string& item : items) {
    if (&item != items.data())
      text += separator;
    text += item;
  }
  return text;
}

std::string first_of(std::span<const std::string> items, std::string_view before_rest) {
  constexpr size_t kNamed = 3;
  std::string text = joined(items.first(std::min(items.size(), kNamed)), ", ");
  return items.size() <= kNamed
             ? text
             : fmt::format("{}{}{} more", text, before_rest, items.size() - kNamed);
}

std::string_view take_line(std::string_view& text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// No find_first_of(), which calls a function for each character.
std::string_view take_word(std::string_view& text) {
  auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  auto begin = std::ranges::find_if_not(text, is_blank);
  auto end = std::find_if(begin, text.end(), is_blank);
  std::string_view word(begin, end);
  text = std::string_view(end, text.end());
  return word;
}

Glyph first_glyph(std::string_view text) {
  utf8proc_int32_t code = 0;
  auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  utf8proc_ssize_t size =
      utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (size <= 0)
    // Not UTF-8, which printable text has none of: a byte is passed over, so that loops come
    // to an end.
    return {1, 1};
  return {static_cast<size_t>(size), static_cast<size_t>(utf8proc_charwidth(code))};
}

namespace {

// Bytes of the beginning that take `width` columns at the most.
size_t head_size(std::string_view text, size_t width) {
  size_t size = 0;
  while (size < text.size()) {
    Glyph next = first_glyph(text.substr(size));
    if (next.width > width)
      break;
    width -= next.width;
    size += next.size;
  }
  return size;
}

}  // namespace

std::string utf8_of(char32_t character) {
  utf8proc_uint8_t bytes[4];
  auto code = static_cast<utf8proc_int32_t>(character);
  utf8proc_ssize_t size =
      utf8proc_codepoint_valid(code) ? utf8proc_encode_char(code, bytes) : 0;
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)};
}

size_t display_width(std::string_view text) {
  if (is_plain(text))
    return text.size();
  size_t width = 0;
  while (!text.empty()) {
    Glyph next = first_glyph(text);
    width += next.width;
    text.remove_prefix(next.size);
  }
  return width;
}

std::string in_ascii(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    Glyph next = first_glyph(text);
    bool is_ascii = static_cast<uint8_t>(text[0]) < 0x80;
    // A wide character becomes as many letters as it has columns, and one that combines none:
    // lines of a table stay aligned.
    size_t columns = is_ascii ? 1 : next.width;
    result.append(columns, ascii_of(text.substr(0, next.size)));
    text.remove_prefix(next.size);
  }
  return result;
}

std::string cut_in_middle(std::string_view text, size_t width) {
  size_t whole = display_width(text);
  if (whole <= width)
    return std::string(text);
  if (width == 0)
    return {};
  size_t head = head_size(text, (width - 1) / 3);
  // The rest begins so far behind that it fits.
  size_t left_out = whole - (width - 1 - display_width(text.substr(0, head)));
  // A wide character at the cut may leave a column too many: the loop below takes characters
  // away until the end fits into what the beginning and "…" leave.
  size_t tail = head_size(text, left_out);
  while (tail < text.size() && display_width(text.substr(tail)) > width - 1 - (width - 1) / 3)
    tail += first_glyph(text.substr(tail)).size;
  return std::string(text.substr(0, head)) + "…" + std::string(text.substr(tail));
}

std::string cut_at_end(std::string_view text, size_t width) {
  if (display_width(text) <= width)
    return std::string(text);
  return width == 0 ? std::string()
                    : std::string(text.substr(0, head_size(text, width - 1))) + "…";
}

std::string wrapped(std::string_view line, size_t width, size_t indent) {
  std::string text;
  size_t used = 0;
  for (bool is_first = true; !line.empty(); is_first = false) {
    // A word with the spaces before it, which align what follows.
    size_t begin = std::min(line.find_first_not_of(' '), line.size());
    size_t end = std::min(line.find(' ', begin), line.size());
    std::string_view word = line.substr(0, end);
    line.remove_prefix(end);
    size_t word_width = display_width(word);
    // The first word of a line is never broken before, however long it is: there would be no
    // end of lines.
    if (!is_first && used + word_width > width && used > indent) {
      text += '\n' + std::string(indent, ' ');
      word.remove_prefix(begin);
      word_width -= begin;
      used = indent;
    }
    text += word;
    used += word_width;
  }
  return text;
}

std::string_view without_directories(std::string_view name) {
  // Types in brackets and receivers may have paths of their own, "[stripped file]" has none.
  std::string_view path = name.substr(0, name.find_first_of("([<{ "));
  if (size_t slash = path.rfind('/'); slash != path.npos)
    name.remove_prefix(slash + 1);
  return name;
}

std::string cut_name(std::string_view name, size_t width) {
  if (display_width(name) <= width)
    return std::string(name);
  return cut_in_middle(without_directories(name), width);
}

namespace {

// The part of a function's name that says what it is, as much as fits; the least may not.
std::string_view shorter_name(std::string_view name, size_t width) {
  // Each step takes away what says least, and only while the name is too long: first the
  // directories, then the arguments, then the package.
  constexpr std::string_view kBrackets = "[<( ";
  auto fits = [&] { return display_width(name) <= width; };
  if (fits() || name.starts_with('['))
    return name;
  name = without_directories(name);
  // The arguments of C++ go, but not a receiver of Go, "json.(*Encoder).Encode", nor what tells
  // it from others of its name, "main.main (link)".
  size_t call = name.find('(');
  if (!fits() && call != name.npos && call > 0 && name[call - 1] != '.' &&
      name[call - 1] != ' ')
    name = name.substr(0, call);
  size_t dot = name.find('.');
  if (!fits() && dot != name.npos && dot < name.find_first_of(kBrackets) &&
      dot + 1 < name.size())
    name.remove_prefix(dot + 1);
  return name;
}

}  // namespace

std::string cut_function(std::string_view name, size_t width) {
  size_t indent = std::min({name.find_first_not_of(' '), width, name.size()});
  return std::string(name.substr(0, indent)) +
         cut_in_middle(shorter_name(name.substr(indent), width - indent), width - indent);
}

std::string name_in_box(std::string_view name, size_t width) {
  constexpr size_t kLeastLetters = 3;
  name = shorter_name(name, width);
  if (display_width(name) <= width)
    return std::string(name);
  return width > kLeastLetters ? cut_at_end(name, width) : "";
}

std::string cut_path(std::string_view path, size_t width) {
  while (display_width(path) > width) {
    size_t slash = path.find('/', 1);
    if (slash == path.npos || slash + 1 == path.size())
      break;
    // An absolute path loses its first directory, then its leading slash, so that the rest
    // does not look like another absolute path.
    path.remove_prefix(slash + (path[0] == '/' ? 0 : 1));
    if (path[0] == '/')
      path.remove_prefix(1);
  }
  return cut_in_middle(path, width);
}

namespace {

// True for letters, digits and the signs of paths, addresses and options, which need no
// quotes.
bool is_for_shell(char c) {
  constexpr std::string_view kSafe = "%+,-./:=@_";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kSafe.find(c) != kSafe.npos;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_for_shell))
    return std::string(text);
  // In '...' a shell takes all as it is, so that a quote has to end it, stand for itself and
  // begin it again. In $'...' a backslash escapes; printable() writes bytes that need it as
  // \xNN, which such a quotation takes for the byte.
  bool is_shown = is_printable(text);
  std::string result = is_shown ? "'" : "$'";
  for (char c : text) {
    if (c == '\'')
      result += is_shown ? "'\\''" : "\\'";
    else if (c == '\\' && !is_shown)
      result += "\\\\";
    else
      result += c;
  }
  return is_shown ? result + '\'' : printable(result) + '\'';
}

std::string as_operand(std::string_view path) {
  return (path.starts_with('-') ? "./" : "") + std::string(path);
}

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace gosym
