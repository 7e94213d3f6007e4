#include "commands/recordings.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <memory>
#include <optional>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "record/recording_directory.h"

namespace gosym {

// Three parts: moments and spans of time as people write them, which of the files in a
// directory may have samples of such a span (by name and time of change, without reading
// them), and the stores of programs' files that lie beside recordings.

namespace {

constexpr uint64_t kNsOfSecond = 1'000'000'000;

// Reads numbers of a fixed number of digits; what does not fit is remembered.
class DigitReader {
public:
  explicit DigitReader(std::string_view text) : text_(text) {}

  int number(size_t digits, int least, int most) {
    int value = 0;
    for (size_t i = 0; i < digits; i++) {
      // A text that is too short reads as 'x', which is no digit.
      char c = i < text_.size() ? text_[i] : 'x';
      is_good_ &= std::isdigit(static_cast<unsigned char>(c)) != 0;
      value = value * 10 + (c - '0');
    }
    text_.remove_prefix(std::min(digits, text_.size()));
    is_good_ &= value >= least && value <= most;
    return value;
  }
  bool take(char c) {
    bool is_there = text_.starts_with(c);
    text_.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }
  void expect(char c) { is_good_ &= take(c); }
  bool is_done() const { return is_good_ && text_.empty(); }
  bool is_at_end() const { return text_.empty(); }

private:
  std::string_view text_;
  bool is_good_ = true;
};

void read_date(DigitReader& reader, bool has_dashes, std::tm& time) {
  time.tm_year = reader.number(4, 1970, 9999) - 1900;
  if (has_dashes)
    reader.expect('-');
  time.tm_mon = reader.number(2, 1, 12) - 1;
  if (has_dashes)
    reader.expect('-');
  time.tm_mday = reader.number(2, 1, 31);
}

void read_time(DigitReader& reader, bool has_colons, std::tm& time) {
  time.tm_hour = reader.number(2, 0, 23);
  if (has_colons)
    reader.expect(':');
  time.tm_min = reader.number(2, 0, 59);
  // "14:02" has no seconds, and neither has "1402".
  if (has_colons ? reader.take(':') : !reader.is_at_end())
    // 60: a leap second.
    time.tm_sec = reader.number(2, 0, 60);
}

std::optional<uint64_t> seconds_of(std::tm time, bool is_utc) {
  // -1: the C library finds out whether it is summer time.
  time.tm_isdst = -1;
  std::time_t seconds = is_utc ? timegm(&time) : std::mktime(&time);
  return seconds < 0 ? std::nullopt : std::optional(static_cast<uint64_t>(seconds));
}

// With or without a time of the day.
std::optional<uint64_t> parse_date(std::string_view text, bool is_utc) {
  // Dashes stand between all parts or between none, and colons likewise: "2026-11-22T14:02" and
  // "20261122T1402".
  bool has_dashes = text.size() > 4 && text[4] == '-';
  DigitReader reader(text);
  std::tm time{};
  read_date(reader, has_dashes, time);
  if (!reader.is_at_end()) {
    if (!reader.take('T'))
      reader.expect(' ');
    read_time(reader, has_dashes, time);
  }
  auto seconds = reader.is_done() ? seconds_of(time, is_utc) : std::nullopt;
  // Nanoseconds of 64 bits end in 2554: a later date is behind all recordings, too.
  return seconds ? std::optional(std::min(*seconds, UINT64_MAX / kNsOfSecond) * kNsOfSecond)
                 : std::nullopt;
}

// The last one that has been.
std::optional<uint64_t> parse_time_of_day(std::string_view text, bool is_utc, uint64_t now) {
  auto now_seconds = static_cast<std::time_t>(now / kNsOfSecond);
  std::tm time{};
  if (is_utc)
    gmtime_r(&now_seconds, &time);
  else
    localtime_r(&now_seconds, &time);
  time.tm_sec = 0;
  DigitReader reader(text);
  read_time(reader, /*has_colons=*/true, time);
  if (!reader.is_done())
    return {};
  auto seconds = seconds_of(time, is_utc);
  if (seconds && *seconds > static_cast<uint64_t>(now_seconds)) {
    time.tm_mday--;  // the C library knows the days of months
    seconds = seconds_of(time, is_utc);
  }
  return seconds ? std::optional(*seconds * kNsOfSecond) : std::nullopt;
}

std::optional<uint64_t> parse_before_now(std::string_view text, uint64_t now) {
  constexpr uint64_t kDay = 86'400 * kNsOfSecond;
  std::optional<uint64_t> length;
  // parse_duration() has no days.
  if (text.ends_with('d')) {
    auto days = parse_decimal(text.substr(0, text.size() - 1));
    if (days && *days <= now / kDay)
      length = *days * kDay;
  } else {
    length = parse_duration(text);
  }
  return length && *length <= now ? std::optional(now - *length) : std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_moment(std::string_view text, uint64_t now) {
  if (text.starts_with('-'))
    return parse_before_now(text.substr(1), now);
  bool is_utc = text.ends_with('Z');
  if (is_utc)
    text.remove_suffix(1);
  bool is_time = text.size() > 2 && text[2] == ':';
  return is_time ? parse_time_of_day(text, is_utc, now) : parse_date(text, is_utc);
}

std::optional<Span> parse_span(std::string_view text, uint64_t now) {
  constexpr std::string_view kDots = "..";
  size_t dots = text.find(kDots);
  if (dots == text.npos)
    return {};
  Span span;
  // An end that is left out leaves the span open.
  auto parse_end = [&](std::string_view end, uint64_t& time) {
    auto moment = parse_moment(end, now);
    time = moment.value_or(time);
    return moment || end.empty();
  };
  bool is_good = parse_end(text.substr(0, dots), span.since) &&
                 parse_end(text.substr(dots + kDots.size()), span.until);
  return is_good && span.since < span.until ? std::optional(span) : std::nullopt;
}

std::string moment_text(uint64_t time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<std::time_t>(time / kNsOfSecond)));
}

bool WantedRecordings::is_host(std::string_view host) const {
  return hosts.empty() || std::ranges::find(hosts, host) != hosts.end();
}

namespace {

std::string as_in_file_name(std::string_view host) {
  std::string name(host);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-')
      c = '_';
  return name;
}

// By name and time of change alone; what is not named as a rotated recording may be any. The
// name is "HOST-20261122T140230Z.raw", or with ".2" before the ending.
bool may_be_wanted(std::string_view name, const struct stat& status,
                   const WantedRecordings& wanted) {
  auto begin = parse_recording_name(name);
  if (!begin)
    return true;
  bool is_of_host =
      wanted.hosts.empty() || std::ranges::any_of(wanted.hosts, [&](const std::string& host) {
        return name.substr(0, name.rfind('-')) == as_in_file_name(host);
      });
  // The name has whole seconds, and a disk may have little more. A recording of a directory
  // was last written when it ended. A second more makes up for both.
  auto changed = static_cast<uint64_t>(std::max<int64_t>(mtime_ns(status), 0));
  uint64_t began = static_cast<uint64_t>(std::max<int64_t>(begin->time, 0)) * kNsOfSecond;
  return is_of_host && wanted.span.overlaps(began, std::max(changed, began) + kNsOfSecond);
}

Error none_in(const std::string& directory, size_t left_out) {
  if (left_out == 0)
    return errorf("'{}': no recordings (*.raw) in this directory", printable(directory))
        .with_exit_status(kNoTarget);
  return errorf("'{}': none of {} is of that time and host", printable(directory),
                count_text(left_out, "recording"))
      .with_hint("their names tell when they began, of UTC")
      .with_exit_status(kNoTarget);
}

Result<std::vector<FoundRecording>> recordings_in(const std::string& directory,
                                                  const WantedRecordings& wanted) {
  std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (!open)
    return system_error(fmt::format("'{}'", printable(directory)), errno);
  std::vector<FoundRecording> found;
  size_t left_out = 0;
  while (const dirent* entry = readdir(open.get())) {
    std::string_view name = entry->d_name;
    struct stat status {};
    if (!name.ends_with(".raw") || name.starts_with('.') ||
        fstatat(dirfd(open.get()), entry->d_name, &status, 0) != 0 || !S_ISREG(status.st_mode))
      continue;
    if (!may_be_wanted(name, status, wanted)) {
      // Counted for the error: a directory with recordings of other times is not an empty one.
      left_out++;
      continue;
    }
    found.push_back({directory + (directory.ends_with('/') ? "" : "/") + entry->d_name, true});
  }
  if (found.empty())
    return none_in(directory, left_out);
  // By path, which for rotated recordings of one host is by time.
  std::ranges::sort(found, {}, &FoundRecording::path);
  return found;
}

// Asks no server for it, which may not answer: what is known of the file is enough.
std::optional<struct statx> known_status(const std::string& path) {
  struct statx status {};
  bool is_known =
      statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE | STATX_UID, &status) == 0;
  return is_known ? std::optional(status) : std::nullopt;
}

bool is_regular_path(const std::string& path) {
  auto status = known_status(path);
  return status && S_ISREG(status->stx_mode);
}

}  // namespace

bool is_directory(const std::string& path) {
  auto status = known_status(path);
  return status && S_ISDIR(status->stx_mode);
}

Result<std::vector<FoundRecording>> find_recordings(const std::vector<std::string>& inputs,
                                                    const WantedRecordings& wanted) {
  std::vector<FoundRecording> files;
  for (const std::string& input : inputs) {
    if (!is_directory(input)) {
      files.push_back({input, false});
      continue;
    }
    // perf record --threads writes a directory: "data", which has what the other files share,
    // and those, with numbers.
    if (is_regular_path(input + "/data") && is_regular_path(input + "/data.0")) {
      files.push_back({input + "/data", false});
      continue;
    }
    auto inside = recordings_in(input, wanted);
    if (!inside)
      return std::move(inside).error();
    std::ranges::move(*inside, std::back_inserter(files));
  }
  return files;
}

namespace {

// In a directory for everybody, such as /tmp, somebody else may have made it.
bool is_of_same_owner(const std::string& store, const std::string& input) {
  auto of_store = known_status(store);
  auto of_input = known_status(input);
  return of_store && of_input && of_store->stx_uid == of_input->stx_uid;
}

}  // namespace

std::vector<std::string> stores_beside(const std::vector<std::string>& inputs) {
  std::vector<std::string> stores;
  for (const std::string& input : inputs) {
    if (input.empty() || input == "-")
      continue;
    // A directory has its store in it, a recording "*.raw" beside it.
    std::string directory = input;
    if (!is_directory(input)) {
      // Only recordings have a store beside them. To look beside others, such as a program, may
      // hold us for good, if its file system does not answer.
      if (!input.ends_with(".raw"))
        continue;
      size_t slash = input.rfind('/');
      directory = slash == input.npos ? "." : input.substr(0, slash + 1);
    }
    std::string store = fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/",
                                    kFilesOfDirectory);
    if (is_of_same_owner(store, input) && is_directory(store + "/.build-id") &&
        std::ranges::find(stores, store) == stores.end())
      stores.push_back(std::move(store));
  }
  return stores;
}

}  // namespace gosym
