#include "commands/option_checks.h"

#include <fmt/core.h>

#include <charconv>

#include "base/percent.h"
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

Option name_option(std::optional<NameForm>& form) {
  auto set = [&form](const std::string& name) {
    form = name == "short"  ? NameForm::kShort
           : name == "full" ? NameForm::kFull
                            : NameForm::kNone;
  };
  return {.names = "--demangle",
          .value = "FORM",
          .help =
              "Print names demangled without type arguments (short) or with them (full), or as "
              "the linker has them (none)",
          .set = set,
          .choices = {"short", "full", "none"}};
}

Option loss_option(std::string& text) {
  auto check = [](const std::string& given) {
    return parse_loss(given) ? std::string()
                             : fmt::format("'{}' is not a share in percent", printable(given));
  };
  return {.names = "--max-loss",
          .value = "PERCENT",
          .help = "Exit with status 3 if more than PERCENT of the samples were lost",
          .set = into(text),
          .check = check};
}

std::optional<double> parse_loss(const std::string& text) {
  if (text.empty())
    return 100;
  std::string_view digits = text;
  if (digits.ends_with('%'))
    digits.remove_suffix(1);
  double number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && number >= 0 && number <= 100 ? std::optional(number) : std::nullopt;
}

double loss_percent(const RecordingStats& stats) {
  return percent(stats.lost_samples, stats.samples + stats.lost_samples);
}

}  // namespace gosym
