#include "proc/maps.h"

#include <fmt/core.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "base/mapped_file.h"
#include "base/text.h"

namespace gosym::proc {

namespace {

// Unlike parse_hex this takes no "0x": the kernel writes none.
std::optional<uint64_t> bare_hex(std::string_view text) {
  return text.find_first_of("xX") == std::string_view::npos ? parse_hex(text) : std::nullopt;
}

// "7f00-7f10" or "08:01".
std::optional<std::pair<uint64_t, uint64_t>> parse_pair(std::string_view text, char separator) {
  auto pieces = split(text, separator);
  if (pieces.size() != 2)
    return std::nullopt;
  auto first = bare_hex(pieces[0]);
  auto second = bare_hex(pieces[1]);
  if (!first || !second)
    return std::nullopt;
  return std::pair(*first, *second);
}

bool are_rights(std::string_view text) {
  static constexpr std::string_view kLetters[] = {"r-", "w-", "x-", "ps"};
  if (text.size() != std::size(kLetters))
    return false;
  for (size_t i = 0; i < text.size(); i++)
    if (kLetters[i].find(text[i]) == std::string_view::npos)
      return false;
  return true;
}

// The kernel writes a newline in a path as \012, and escapes nothing else there.
std::string unescape_newlines(std::string_view path) {
  constexpr std::string_view kNewline = "\\012";
  std::string result;
  while (true) {
    size_t at = path.find(kNewline);
    result += path.substr(0, at);
    if (at == std::string_view::npos)
      return result;
    result += '\n';
    path.remove_prefix(at + kNewline.size());
  }
}

}  // namespace

std::optional<MapsEntry> parse_maps_line(std::string_view line) {
  auto range = parse_pair(take_word(line), '-');
  std::string_view rights = take_word(line);
  auto offset = bare_hex(take_word(line));
  auto device = parse_pair(take_word(line), ':');
  auto inode = parse_decimal(take_word(line));
  if (!range || range->first >= range->second || !are_rights(rights) || !offset || !device ||
      device->first > UINT32_MAX || device->second > UINT32_MAX || !inode)
    return std::nullopt;

  // Paths are padded to a column.
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return MapsEntry{
      .start = range->first,
      .end = range->second,
      .is_executable = rights[2] == 'x',
      .file_offset = *offset,
      .device =
          makedev(static_cast<uint32_t>(device->first), static_cast<uint32_t>(device->second)),
      .inode = *inode,
      .path = unescape_newlines(line),
  };
}

Result<std::vector<MapsEntry>> parse_maps(std::string_view text) {
  std::vector<MapsEntry> entries;
  for (size_t number = 1; !text.empty(); number++) {
    auto entry = parse_maps_line(take_line(text));
    if (!entry)
      return errorf("line {}: not a mapping", number);
    entries.push_back(std::move(*entry));
  }
  return entries;
}

namespace {

// The number of "   123 kB", in bytes.
uint64_t kilobytes_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  auto number = parse_decimal(text.substr(0, text.find(' ')));
  // A number that no process can have is not believed.
  constexpr uint64_t kMost = uint64_t{1} << 50;
  return number && *number < kMost ? *number << 10 : 0;
}

}  // namespace

std::vector<MemoryUse> parse_smaps(std::string_view text) {
  constexpr std::string_view kResident = "Rss:";
  constexpr std::string_view kSwapped = "Swap:";
  std::vector<MemoryUse> uses;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    // A line of a mapping begins with hexadecimal digits in lower case, one of a figure with a
    // capital.
    bool is_name = !line.empty() && line.front() >= 'A' && line.front() <= 'Z';
    if (auto mapping = is_name ? std::nullopt : parse_maps_line(line))
      uses.push_back({.mapping = *std::move(mapping)});
    else if (line.starts_with(kResident) && !uses.empty())
      uses.back().resident = kilobytes_in(line.substr(kResident.size()));
    else if (line.starts_with(kSwapped) && !uses.empty())
      uses.back().swapped = kilobytes_in(line.substr(kSwapped.size()));
  }
  return uses;
}

Result<std::string> smaps_text_of(uint32_t pid) {
  return read_file(fmt::format("/proc/{}/smaps", pid), kMaxProcessText);
}

}  // namespace gosym::proc
