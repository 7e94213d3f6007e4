#include "commands/loss_option.h"

#include <charconv>

#include "base/percent.h"
#include "base/text.h"

namespace gosym {

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
