#include "base/clock.h"

#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/mapped_file.h"
#include "base/text.h"

namespace gosym {

namespace {

std::optional<int64_t> take_number(std::string_view& line) {
  std::string_view word = take_word(line);
  int64_t number = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  bool is_whole = error == std::errc() && end == word.data() + word.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

// A line for each clock: its name, seconds, which may be negative, and nanoseconds.
std::optional<int64_t> offset_in(std::string_view text) {
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int64_t kMaxSeconds = INT64_MAX / kSecond - 1;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) != "monotonic")
      continue;
    auto seconds = take_number(line);
    auto nanoseconds = take_number(line);
    if (!seconds || *seconds > kMaxSeconds || *seconds < -kMaxSeconds || !nanoseconds ||
        *nanoseconds < 0 || *nanoseconds >= kSecond)
      return std::nullopt;
    return *seconds * kSecond + *nanoseconds;
  }
  return std::nullopt;
}

// Read before main(): a confined process cannot.
const int64_t kOwnMonotonicOffset = monotonic_offset_of("/proc/self").value_or(0);

}  // namespace

std::optional<int64_t> monotonic_offset_of(const std::string& process) {
  // The namespace that the machine starts with has always this number, and no offsets.
  constexpr const char* kFirst = "time:[4026531834]";  // PROC_TIME_INIT_INO
  constexpr size_t kMaxSize = 4096;
  std::error_code error;
  auto own = std::filesystem::read_symlink(process + "/ns/time", error);
  if (error == std::errc::no_such_file_or_directory || own == kFirst)
    return 0;  // or the kernel has none but this
  // A process with another namespace for its children has its own offsets in no file.
  if (error || own != std::filesystem::read_symlink(process + "/ns/time_for_children", error))
    return std::nullopt;
  auto text = read_file(process + "/timens_offsets", kMaxSize);
  return text ? offset_in(*text) : std::nullopt;
}

uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC) - static_cast<uint64_t>(kOwnMonotonicOffset);
}

}  // namespace gosym
