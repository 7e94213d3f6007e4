#include "elf/padding.h"

#include <algorithm>
#include <array>

namespace gosym::elf {

namespace {

using namespace std::string_view_literals;

constexpr uint64_t kAlignment = 16;

// Filling that assemblers and linkers put into gaps, the longest first.
constexpr auto kPadding = std::to_array<std::string_view>({
    "\x2e\x0f\x1f\x84\0\0\0\0\0"sv,
    "\x0f\x1f\x84\0\0\0\0\0"sv,
    "\x0f\x1f\x80\0\0\0\0"sv,
    "\x0f\x1f\x44\0\0"sv,
    "\x0f\x1f\x40\0"sv,
    "\x0f\x1f\0"sv,
    "\x66"sv,  // before any of these
    "\x90"sv,
    "\xcc"sv,
});

bool is_all_padding(std::string_view bytes) {
  while (!bytes.empty()) {
    auto piece = std::ranges::find_if(
        kPadding, [&](std::string_view padding) { return bytes.starts_with(padding); });
    if (piece == kPadding.end())
      return false;
    bytes.remove_prefix(piece->size());
  }
  return true;
}

// True if the code may end behind a return or a direct jump.
bool ends_function(std::string_view code) {
  return code.ends_with('\xc3') || (code.size() >= 2 && code[code.size() - 2] == '\xeb') ||
         (code.size() >= 5 && code[code.size() - 5] == '\xe9');
}

// True if padding lies before the end of the code, which is aligned.
bool ends_in_padding(std::string_view code) {
  for (size_t size = 1; size < kAlignment && size < code.size(); size++)
    if (is_all_padding(code.substr(code.size() - size)) &&
        ends_function(code.substr(0, code.size() - size)))
      return true;
  return false;
}

bool is_of_x86(const Image& image) {
  return image.machine == EM_X86_64 || image.machine == EM_386;
}

}  // namespace

uint64_t size_up_to_padding(const Image& image, ImageAddress address, uint64_t size) {
  bool is_x86 = is_of_x86(image);
  auto loaded = image.loaded_from(address);
  if (!is_x86 || !loaded)
    return size;
  std::string_view code = as_text(loaded->first(std::min<uint64_t>(size, loaded->size())));
  uint64_t first = kAlignment - to_integer(address) % kAlignment;
  for (uint64_t end = first; end <= code.size(); end += kAlignment)
    if (ends_in_padding(code.substr(0, end)))
      return end;
  return size;
}

bool is_padding(const Image& image, ImageAddress address) {
  uint64_t size = -to_integer(address) % kAlignment;
  auto loaded = is_of_x86(image) ? image.loaded_from(address) : std::nullopt;
  auto code = loaded ? slice(*loaded, 0, size) : std::nullopt;
  return code && size != 0 && is_all_padding(as_text(*code));
}

}  // namespace gosym::elf
