#include "commands/option_checks.h"

#include <fmt/core.h>

#include "base/text.h"

namespace gosym {

Check check_id(const char* kind) {
  return [kind](const std::string& text) -> std::string {
    // "$(pidof server)" leaves nothing if there is no server, or the next option in its place.
    if (text.empty() || text.starts_with('-'))
      return fmt::format("no {} id: is the program running?", kind);
    auto id = parse_decimal(text);
    if (!id || *id > UINT32_MAX)
      return fmt::format("'{}' is not a {} id", printable(text), kind);
    return {};
  };
}

std::string check_process(const std::string& text) {
  bool is_name = text.find_first_not_of("0123456789") != text.npos && !text.starts_with('-');
  return is_name ? std::string() : check_id("process")(text);
}

std::string check_interval(const std::string& text) {
  constexpr uint64_t kLeast = 10'000'000;
  auto interval = parse_duration(text);
  return interval && *interval >= kLeast
             ? std::string()
             : fmt::format("'{}' is not a duration of 10ms or more, such as 1s",
                           printable(text));
}

std::string check_count(const std::string& text) {
  return parse_decimal(text) ? std::string()
                             : fmt::format("'{}' is not a count", printable(text));
}

std::string check_given(const std::string& text) {
  return text.empty() ? "it is empty" : std::string();
}

}  // namespace gosym
