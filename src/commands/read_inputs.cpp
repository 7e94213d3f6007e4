#include "commands/read_inputs.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "exchange/gunzip.h"
#include "exchange/input_kind.h"
#include "exchange/read_profile.h"
#include "perf_data/reader.h"
#include "raw/format.h"
#include "raw/input.h"

namespace gosym {

namespace {

// Whoever has more of them names those of an hour, or a day.
constexpr size_t kMaxRecordings = 10'000;

// A profile that was read is all in memory. Those of pprof have some megabytes, folded text of
// a day some hundred.
constexpr uint64_t kMaxProfileFile = uint64_t{4} << 30;

// For whoever named a file that cannot be read.
Error with_reason(Error error, const std::string& path) {
  if (path == "-")
    return error;
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    return std::move(error).with_hint("make a recording first: gosym record -p PID -d 10s");
  if (access(path.c_str(), R_OK) != 0 && errno == EACCES)
    return std::move(error).with_hint(
        "a recording is for those who made it: sudo gosym report");
  return error;
}

// Memory that the profile in a file may take for its size: a few bytes that were made for it
// could ask for any amount. Names of folded text are written out each time, and gzip makes a
// fifth of a pprof file.
uint64_t for_profile(InputKind kind, std::string_view begin, uint64_t size) {
  constexpr uint64_t kPlain = 8;
  constexpr uint64_t kPacked = 16;
  if (kind == InputKind::kPage)
    return raw::memory_budget(size);
  return size * (begin.starts_with(kGzipMagic) ? kPacked : kPlain);
}

Result<Profile> read_profile_of(InputKind kind, const raw::Input& file, uint64_t memory,
                                std::optional<Side> side) {
  if (file.size() > kMaxProfileFile)
    return errorf("{}: more than {}", human_size(file.size()), human_size(kMaxProfileFile));
  std::string text(file.size(), '\0');
  text.resize(file.read(0, text));
  return read_profile(kind, text, memory, side);
}

// A file of no kind that is known gets a hint that names those which are.
Error with_kinds(Error error, std::string_view begin) {
  bool is_known = begin.empty() || begin.starts_with(raw::kMagic) || !error.hint().empty();
  return is_known
             ? error
             : std::move(error).with_hint(
                   "read are recordings, perf.data, pprof profiles, folded text and pages of "
                   "gosym");
}

// When a file was written last, since 1970; 0: it is none.
uint64_t written_at(const std::string& path) {
  struct stat status {};
  bool is_file = path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? static_cast<uint64_t>(mtime_ns(status)) : 0;
}

// perf record --threads writes a directory: "data", which has what the other files share, and
// those, with numbers.
constexpr std::string_view kFileOfDirectory = "/data";

bool is_perf_directory(const std::string& directory) {
  return written_at(directory + std::string(kFileOfDirectory)) != 0 &&
         written_at(directory + std::string(kFileOfDirectory) + ".0") != 0;
}

perf_data::Inputs beside(const std::string& path) {
  perf_data::Inputs files;
  if (!path.ends_with(kFileOfDirectory))
    return files;
  while (true) {
    std::string next = fmt::format("{}.{}", path, files.size());
    auto file = written_at(next) != 0 ? raw::Input::open(next) : Error("there is none");
    if (!file)
      return files;
    files.push_back(*std::move(file));
  }
}

Result<perf_data::ReadFile> read_recording(const std::string& path, std::string_view begin,
                                           std::shared_ptr<const raw::Input> file,
                                           uint64_t memory, const DebugFileOptions& files) {
  if (!perf_data::is_perf_data(begin)) {
    auto recording = raw::parse(std::move(file), memory);
    if (!recording)
      return std::move(recording).error();
    return perf_data::ReadFile{*std::move(recording)};
  }
  return perf_data::read(*file, memory, {files.symfs, written_at(path)}, files.kernel,
                         beside(path));
}

// Bytes of another program's profile that are read: as many as are allowed, and one that shows
// that it has more.
uint64_t limit_of_stream(std::string_view begin) {
  if (perf_data::is_perf_data(begin))
    return UINT64_MAX;
  return detect_input_kind(begin) == InputKind::kRecording
             ? raw::Input::limit_of_recording(begin)
             : kMaxProfileFile + 1;
}

// The one place where a file becomes something to report.
Result<> read_one(const std::string& path, std::optional<Side> side,
                  const DebugFileOptions& files, Inputs& inputs) {
  auto file = raw::Input::open(path, limit_of_stream);
  if (!file)
    return with_reason(std::move(file).error(), path);
  std::string begin(kKindBytes, '\0');
  begin.resize((*file)->read(0, begin));
  InputKind kind = detect_input_kind(begin);
  if (side && kind != InputKind::kPage)
    return no_sides().context(to_string(kind));
  inputs.size += (*file)->size();
  if (kind == InputKind::kRecording) {
    auto read = read_recording(path, begin, *std::move(file), inputs.memory_left(), files);
    if (!read)
      return with_kinds(std::move(read).error(), begin);
    inputs.memory += read->recording.memory;
    inputs.recordings.push_back({path, std::move(read->recording), std::move(read->unchecked)});
    return Ok{};
  }
  inputs.for_profiles += for_profile(kind, begin, (*file)->size());
  auto profile = read_profile_of(kind, **file, inputs.memory_left(), side);
  if (!profile)
    return std::move(profile).error().context(to_string(kind));
  inputs.memory += memory_of(*profile);
  inputs.profiles.push_back({path, kind, *std::move(profile)});
  return Ok{};
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
    if (is_perf_directory(input)) {
      files.push_back(input + std::string(kFileOfDirectory));
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

// A copy has both clocks of the instant at which its original was begun.
Result<> check_copies(const std::vector<NamedRecording>& recordings) {
  std::map<std::tuple<uint64_t, uint64_t, std::string_view>, const std::string*> seen;
  for (const auto& [name, recording, unchecked] : recordings) {
    auto [known, is_new] = seen.try_emplace(
        {recording.monotonic_ns, recording.realtime_ns, recording.info.host}, &name);
    if (!is_new)
      return errorf("'{}' and '{}' are the same recording", printable(*known->second),
                    printable(name))
          .with_hint("its samples would count twice: leave one out")
          .with_exit_status(kUsage);
  }
  return Ok{};
}

// "web" of one machine and "web" of another become "web#1f03" and "web#c2aa".
void tell_hosts_apart(std::vector<NamedRecording>& recordings) {
  constexpr size_t kShownBytes = 2;
  std::map<std::string, std::set<std::string>> machines;
  for (const NamedRecording& one : recordings)
    if (const RecordingInfo& info = one.recording.info; !info.machine_id.empty())
      machines[info.host].insert(info.machine_id);
  for (NamedRecording& one : recordings)
    if (RecordingInfo& info = one.recording.info;
        !info.machine_id.empty() && machines[info.host].size() > 1)
      info.host += "#" + hex(info.machine_id.substr(0, kShownBytes));
}

Result<> check_rates(const std::vector<NamedRecording>& recordings, const std::string& wanted) {
  std::vector<std::pair<const RecordedEvent*, const std::string*>> known;
  for (const auto& [name, recording, unchecked] : recordings)
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

namespace {

// Samples of a clock and amounts that another tool has counted are not the same thing.
Error mixed_kinds(const Inputs& inputs) {
  return errorf("'{}' is a recording, '{}' is {}: they do not add up",
                printable(inputs.recordings.front().name),
                printable(inputs.profiles.front().name),
                to_string(inputs.profiles.front().kind))
      .with_hint("gosym report --pprof FILE makes a profile of a recording")
      .with_exit_status(kUsage);
}

}  // namespace

uint64_t Inputs::memory_left() const {
  constexpr uint64_t kLeast = 256 << 20;
  uint64_t budget = for_profiles > 0 ? kLeast + for_profiles : raw::memory_budget(size);
  return budget - std::min(budget, memory);
}

Result<Inputs> read_inputs(const std::vector<std::string>& inputs, const std::string& event,
                           const DebugFileOptions& where, std::optional<Side> side) {
  auto files = files_of(inputs);
  if (!files)
    return std::move(files).error();
  if (auto checked = check_distinct(*files); !checked)
    return std::move(checked).error();
  Inputs result;
  for (const std::string& file : *files) {
    if (auto added = read_one(file, side, where, result); !added)
      return std::move(added).error().context(
          file == "-" ? "standard input" : fmt::format("'{}'", printable(file)));
    if (!result.recordings.empty() && !result.profiles.empty())
      return mixed_kinds(result);
  }
  std::ranges::stable_sort(result.recordings, {}, [](const NamedRecording& one) {
    return raw::start_realtime_ns(one.recording);
  });
  std::ranges::stable_sort(result.profiles, {}, [](const ReadProfile& one) {
    return one.profile.start_realtime_ns;
  });
  if (auto checked = check_copies(result.recordings); !checked)
    return std::move(checked).error();
  if (auto checked = check_rates(result.recordings, event); !checked)
    return std::move(checked).error();
  tell_hosts_apart(result.recordings);
  return result;
}

bool is_recording(std::string_view begin) {
  return begin.starts_with(raw::kMagic) || perf_data::is_perf_data(begin);
}

std::vector<RecordedEvent> events_of(const Inputs& inputs) {
  std::vector<RecordedEvent> events;
  auto add = [&](const RecordingInfo& info) {
    for (const RecordedEvent& event : info.events)
      if (std::ranges::find(events, event) == events.end())
        events.push_back(event);
  };
  for (const NamedRecording& one : inputs.recordings)
    add(one.recording.info);
  for (const ReadProfile& one : inputs.profiles)
    add(one.profile.info);
  return events;
}

}  // namespace gosym
