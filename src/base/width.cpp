#include "base/width.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/text.h"

namespace gosym {

Glyph first_glyph(std::string_view text) {
  utf8proc_int32_t code = 0;
  auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  utf8proc_ssize_t size =
      utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (size <= 0)
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
    if (slash == path.npos)
      break;
    path.remove_prefix(slash + (path[0] == '/' ? 0 : 1));
    if (path[0] == '/')
      path.remove_prefix(1);
  }
  return cut_in_middle(path, width);
}

}  // namespace gosym
