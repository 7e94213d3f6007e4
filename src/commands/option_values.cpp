#include "commands/option_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/percent.h"
#include "base/text.h"
#include "base/workers.h"

namespace gosym {

Result<std::string> parse_given(const std::string& text) {
  if (text.empty())
    return Error("it is empty");
  return text;
}

namespace {

Result<uint32_t> parse_id(const char* kind, const std::string& text) {
  // "$(pidof server)" leaves nothing if there is no server, or the next option in its place.
  if (text.empty() || text.starts_with('-'))
    return errorf("no {} id: is the program running?", kind);
  auto id = parse_decimal(text);
  if (!id || *id > UINT32_MAX)
    return errorf("'{}' is not a {} id", printable(text), kind);
  return static_cast<uint32_t>(*id);
}

}  // namespace

Result<uint32_t> parse_process_id(const std::string& text) {
  return parse_id("process", text);
}

Result<uint32_t> parse_thread_id(const std::string& text) {
  return parse_id("thread", text);
}

Result<std::string> parse_process(const std::string& text) {
  // Digits alone are an id; a name that is only digits can be given to --comm.
  bool is_name = text.find_first_not_of("0123456789") != text.npos && !text.starts_with('-');
  if (is_name)
    return text;
  if (auto id = parse_process_id(text); !id)
    return std::move(id).error();
  return text;
}

Result<uint64_t> parse_interval(const std::string& text) {
  constexpr uint64_t kLeast = 10'000'000;  // a terminal shows no more
  auto interval = parse_duration(text);
  if (!interval || *interval < kLeast)
    return errorf("'{}' is not a duration of 10ms or more, such as 1s", printable(text));
  return *interval;
}

Result<uint64_t> parse_count(const std::string& text) {
  auto number = parse_decimal(text);
  if (!number)
    return errorf("'{}' is not a count", printable(text));
  return *number;
}

Result<double> parse_percent(const std::string& text) {
  std::string_view digits = text;
  if (digits.ends_with('%'))
    digits.remove_suffix(1);
  double number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  // Digits alone: std::from_chars() takes "1e3", "nan" and "-1" as well.
  bool is_number = error == std::errc() && end == digits.data() + digits.size() &&
                   digits.find_first_not_of("0123456789.") == digits.npos;
  if (!is_number)
    return errorf("'{}' is not a percentage", printable(text));
  return number;
}

Result<double> parse_share(const std::string& text) {
  auto share = parse_percent(text);
  if (share && *share > 100)
    return errorf("'{}' is not a percentage", printable(text));
  return share;
}

std::vector<std::string> words_of_names(std::string_view names) {
  std::vector<std::string> words;
  for (std::string_view name : split(names, ',')) {
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    // "label:KEY" is offered as "label:", for its key is to follow; "time[:STEP]" as "time".
    size_t end = std::min(name.find_first_of(":["), name.size());
    words.emplace_back(name.substr(0, name.substr(end).starts_with(':') ? end + 1 : end));
  }
  return words;
}

Result<std::string> parse_directory(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed))
    return errorf("'{}' is not a directory", printable(path));
  return path;
}

Option name_option(std::optional<NameForm>& form) {
  return {.names = "--demangle",
          .value = "FORM",
          .help =
              "Print names demangled without type arguments (short) or with them (full), or as "
              "the linker has them (none)",
          .take = one_of(form, {{"short", NameForm::kShort},
                                {"full", NameForm::kFull},
                                {"none", NameForm::kNone}})};
}

Option loss_option(double& percent) {
  return {.names = "--max-loss",
          .value = "PERCENT",
          .help = "Exit with status 3 if more than PERCENT of the samples were lost",
          .take = into(percent, parse_share)};
}

Option jobs_option(size_t& count) {
  auto parse = [](const std::string& text) -> Result<size_t> {
    auto number = parse_decimal(text);
    if (!number || *number < 1 || *number > kMaxWorkers)
      return errorf("'{}' is not a number from 1 to {}", printable(text), kMaxWorkers);
    return static_cast<size_t>(*number);
  };
  return {.names = "-j,--jobs",
          .value = "N",
          .help = "Use N CPUs (default: all that it may use, at most 16)",
          .take = into(count, parse)};
}

double loss_percent(const RecordingStats& stats) {
  return percent(stats.lost_samples, stats.samples + stats.lost_samples);
}

}  // namespace gosym
