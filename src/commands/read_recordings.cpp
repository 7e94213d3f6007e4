#include "commands/read_recordings.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "base/exit_status.h"
#include "base/text.h"

namespace gosym {

namespace {

// Whoever has more of them names those of an hour, or a day.
constexpr size_t kMaxRecordings = 10'000;

Result<raw::Recording> read_one(const std::string& path) {
  auto recording = raw::read(path);
  if (recording || path == "-")
    return recording;
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    return std::move(recording).error().with_hint(
        "make a recording first: gosym record -p PID -d 10s");
  if (access(path.c_str(), R_OK) != 0 && errno == EACCES)
    return std::move(recording).error().with_hint(
        "a recording is for those who made it: sudo gosym report");
  return recording;
}

// Regular files, sorted by name: a FIFO that somebody put there would hold us for good.
Result<std::vector<std::string>> recordings_in(const std::string& directory) {
  std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (!open)
    return system_error(fmt::format("'{}'", printable(directory)), errno);
  std::vector<std::string> paths;
  while (const dirent* entry = readdir(open.get())) {
    std::string_view name = entry->d_name;
    struct stat status {};
    if (name.ends_with(".raw") && !name.starts_with('.') &&
        fstatat(dirfd(open.get()), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode))
      paths.push_back(directory + (directory.ends_with('/') ? "" : "/") + entry->d_name);
  }
  if (paths.empty())
    return errorf("'{}': no recordings (*.raw) in this directory", printable(directory))
        .with_exit_status(kNoTarget);
  std::ranges::sort(paths);
  return paths;
}

Result<std::vector<std::string>> files_of(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    struct stat status {};
    bool is_directory = stat(input.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    if (!is_directory) {
      files.push_back(input);
      continue;
    }
    auto inside = recordings_in(input);
    if (!inside)
      return std::move(inside).error();
    std::ranges::move(*inside, std::back_inserter(files));
  }
  if (files.size() > kMaxRecordings)
    return errorf("{} recordings: more than {} at once", files.size(), kMaxRecordings)
        .with_exit_status(kUsage);
  return files;
}

// Samples of a file that is named twice would count twice.
Result<> check_distinct(const std::vector<std::string>& files) {
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const std::string& file : files) {
    struct stat status {};
    if (file != "-" && stat(file.c_str(), &status) != 0)
      continue;
    if (!seen.emplace(status.st_dev, status.st_ino).second)
      return errorf("'{}' is given twice", printable(file)).with_exit_status(kUsage);
  }
  return Ok{};
}

Result<> check_rates(const std::vector<NamedRecording>& recordings, const std::string& wanted) {
  std::vector<std::pair<const RecordedEvent*, const std::string*>> known;
  for (const auto& [name, recording] : recordings)
    for (const RecordedEvent& event : recording.info.events) {
      if (!wanted.empty() && event.name != wanted)
        continue;
      auto same =
          std::ranges::find(known, event.name, [](const auto& one) { return one.first->name; });
      if (same == known.end())
        known.emplace_back(&event, &name);
      else if (*same->first != event)
        return errorf("'{}' has {}, '{}' has {}: samples of different rates do not add up",
                      printable(*same->second), printable(event_text(*same->first)),
                      printable(name), printable(event_text(event)))
            .with_hint("report them one by one, or --event another");
    }
  return Ok{};
}

}  // namespace

Result<std::vector<NamedRecording>> read_recordings(const std::vector<std::string>& inputs,
                                                    const std::string& event) {
  auto files = files_of(inputs);
  if (!files)
    return std::move(files).error();
  if (auto checked = check_distinct(*files); !checked)
    return std::move(checked).error();
  std::vector<NamedRecording> recordings;
  for (const std::string& file : *files) {
    auto recording = read_one(file);
    if (!recording)
      return std::move(recording).error();
    recordings.push_back({file, *std::move(recording)});
  }
  std::ranges::stable_sort(recordings, {}, [](const NamedRecording& one) {
    return raw::start_realtime_ns(one.recording);
  });
  if (auto checked = check_rates(recordings, event); !checked)
    return std::move(checked).error();
  return recordings;
}

std::vector<RecordedEvent> events_of(const std::vector<NamedRecording>& recordings) {
  std::vector<RecordedEvent> events;
  for (const NamedRecording& one : recordings)
    for (const RecordedEvent& event : one.recording.info.events)
      if (std::ranges::find(events, event) == events.end())
        events.push_back(event);
  return events;
}

}  // namespace gosym
