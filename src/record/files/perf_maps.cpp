#include "record/files/perf_maps.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "proc/perf_map.h"
#include "proc/process.h"
#include "raw/messages.h"
#include "record/files/file_helper.h"
#include "record/rights.h"

namespace gosym {

namespace {

// A chunk, with room for its other fields. V8 writes some 100 bytes for each function that it
// compiles, so these are half a million of them.
constexpr uint64_t kMaxSize = raw::kMaxPayloadSize - (1 << 20);

// Descriptors that are held: of 1024 as a rule, of which each CPU takes a few. Beyond them only
// processes that are still there at the end can be read of.
constexpr size_t kMaxDirectories = 64;

// The start of a process is told in clock ticks, and the clock of files may have been adjusted
// since.
constexpr int64_t kClockSlack = 1'000'000'000;

// The time of another clock as that of a file; `now` is what that clock shows.
int64_t file_time(uint64_t now, uint64_t time) {
  return static_cast<int64_t>(clock_ns(CLOCK_REALTIME) - now + time);
}

// When a file was changed, by CLOCK_MONOTONIC.
uint64_t change_time(const struct stat& status, uint64_t now) {
  auto ago = static_cast<int64_t>(clock_ns(CLOCK_REALTIME)) - mtime_ns(status);
  return now - std::min(now, static_cast<uint64_t>(std::max<int64_t>(ago, 0)));
}

std::string name_of(const PerfMaps::Place& place) {
  return fmt::format("perf-{}.map", place.own_pid);
}

bool is_initial(const UniqueFd& user_namespace) {
  struct stat status {};
  return fstat(user_namespace.get(), &status) == 0 && status.st_ino == kFirstUserNamespace;
}

// True for a map that root wrote before it became another user. A second link could be another
// file of root.
bool is_of_root(const struct stat& status, const PerfMaps::Place& place) {
  return status.st_uid == 0 && status.st_nlink == 1 && place.has_root_mounts;
}

// Half as many marks, the last one among them.
void thin_out(std::vector<PerfMapMark>& marks) {
  std::vector<PerfMapMark> kept;
  for (size_t i = marks.size() % 2 == 0 ? 1 : 0; i < marks.size(); i += 2)
    kept.push_back(marks[i]);
  marks = std::move(kept);
}

// A mark tells from when on the map was so long. The code that ran before an entry was there is
// that of the entry's place before: so of entries that came between two looks none counts from
// before the last one was written.
void note_size(PerfMaps::Place& place, const struct stat& status) {
  constexpr size_t kMaxMarks = 1024;
  uint64_t now = monotonic_ns();
  auto size = static_cast<uint64_t>(status.st_size);
  // A file that is another one, or has become shorter, was written from the start.
  bool is_anew =
      status.st_ino != place.inode || (!place.marks.empty() && size < place.marks.back().size);
  if (is_anew)
    place.marks.clear();
  place.inode = status.st_ino;
  if (place.marks.empty() || size > place.marks.back().size)
    place.marks.push_back({std::max(change_time(status, now), place.watched_at), size});
  // Marks become coarser with time, but their number stays bounded.
  if (place.marks.size() > kMaxMarks)
    thin_out(place.marks);
  place.watched_at = now;
}

// Removes lines that are none of a map from a text that begins at an offset of its file. The
// marks are those of the file, and become those of the lines that are kept: a mark within a
// line, of which the rest was not written yet, becomes that of the lines before it.
void keep_lines(std::string& text, uint64_t offset, std::vector<PerfMapMark>& marks) {
  auto mark = marks.begin();
  size_t kept = 0;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin) + 1) != 0; begin = end) {
    for (; mark != marks.end() && mark->size < offset + end; ++mark)
      mark->size = kept;
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!proc::parse_perf_map_line(line.substr(0, line.size() - 1)))
      continue;
    // In place, for a map may have a hundred megabytes.
    std::copy(line.begin(), line.end(), text.begin() + static_cast<ptrdiff_t>(kept));
    kept += line.size();
  }
  for (; mark != marks.end(); ++mark)
    mark->size = kept;
  text.resize(kept);
}

// Why a map is not to be believed; empty if it is.
std::string distrust(const struct stat& status, const PerfMaps::Place& place) {
  if (S_ISLNK(status.st_mode))
    return "not used: it is a symbolic link";
  if (!S_ISREG(status.st_mode))
    return "not used: it is no regular file";
  if (status.st_uid != place.user && !is_of_root(status, place))
    return fmt::format("not used: it belongs to user {}, the process to user {}", status.st_uid,
                       place.user);
  if (mtime_ns(status) < place.since_ns - kClockSlack)
    return "not used: it is older than the process";
  return {};
}

}  // namespace

void PerfMaps::notice(std::optional<Place>& place, uint32_t pid, uint64_t time) {
  if (!place)
    place = look_at(pid, time);
  place->has_code = true;
}

void PerfMaps::renew(Place& place, uint64_t time) {
  place.since_ns = file_time(monotonic_ns(), time);
  place.has_code = false;
  place.marks.clear();
  place.inode = 0;
}

void PerfMaps::watch(Place& place) {
  if (!place.has_code || !place.directory)
    return;
  struct stat status {};
  UniqueFd found = find_in(*place.directory, name_of(place));
  if (found && fstat(found.get(), &status) == 0 && S_ISREG(status.st_mode))
    note_size(place, status);
}

PerfMaps::Place PerfMaps::look_at(uint32_t pid, uint64_t time) {
  Place place = {.directory = keep_directory_of(pid),
                 .own_pid = pid,
                 .user = geteuid(),
                 .since_ns = file_time(monotonic_ns(), time),
                 .has_code = true};
  if (auto status = proc::status_of(pid)) {
    place.own_pid = status->own_pid;
    place.user = status->user;
  }
  // Asked after the directory was found: who is in such a namespace comes back from none.
  place.has_root_mounts = place.directory && is_initial(helper_ ? helper_->open_mount_owner(pid)
                                                                : look_for_mount_owner(pid));
  if (auto start = proc::start_time_of(pid))
    place.since_ns = file_time(clock_ns(CLOCK_BOOTTIME), *start);
  return place;
}

// Processes of a container share it, and so do those of the host.
const UniqueFd* PerfMaps::keep_directory_of(uint32_t pid) {
  struct stat status {};
  UniqueFd directory = find_directory_of(pid);
  if (!directory || fstat(directory.get(), &status) != 0)
    return nullptr;
  auto key = std::pair(status.st_dev, status.st_ino);
  if (directories_.size() >= kMaxDirectories && !directories_.contains(key))
    return nullptr;
  return &directories_.try_emplace(key, std::move(directory)).first->second;
}

UniqueFd PerfMaps::find_directory_of(uint32_t pid) const {
  return helper_ ? helper_->open_tmp(pid) : look_for_tmp(pid);
}

UniqueFd PerfMaps::find_map(const Place& place, uint32_t pid) const {
  std::string name = name_of(place);
  if (place.directory)
    return find_in(*place.directory, name);
  if (UniqueFd directory = find_directory_of(pid))
    return find_in(directory, name);
  bool is_like_ours = place.own_pid == pid;
  return is_like_ours ? find_in(find_file("/tmp"), name) : UniqueFd();
}

// The lines that were written last tell of the code that is there now.
void PerfMaps::read_text(const UniqueFd& found, uint64_t size, RecordedPerfMap& map) const {
  uint64_t limit = std::min(kMaxSize, bytes_left_);
  auto file = helper_ ? Result(helper_->open_perf_map(found)) : open_found(found);
  if (!file || !*file) {
    map.problem = file ? "cannot be opened" : file.error().message();
    return;
  }
  // Compilers append, so the end of a map that is too large has the code that is in use.
  uint64_t begin = size - std::min(size, limit);
  uint64_t offset = begin;
  map.text.resize(size - begin);
  map.text.resize(read_at(file->get(), begin, std::as_writable_bytes(std::span(map.text))));
  if (begin > 0) {
    size_t rest = map.text.find('\n') + 1;  // of a line
    map.text.erase(0, rest);
    offset += rest;
  }
  keep_lines(map.text, offset, map.marks);
  if (begin == 0)
    return;
  map.problem = fmt::format("too large: only the last {} of {} are used", human_size(limit),
                            human_size(size));
}

std::optional<RecordedPerfMap> PerfMaps::read(const Place& place, uint32_t pid, uint64_t time) {
  UniqueFd found = place.has_code ? find_map(place, pid) : UniqueFd();
  return read_found(place, found, pid, time);
}

std::optional<RecordedPerfMap> PerfMaps::read_left(const Place& place, uint32_t pid,
                                                   uint64_t time) {
  UniqueFd found = place.has_code ? find_map(place, pid) : UniqueFd();
  struct stat status {};
  if (!found || fstat(found.get(), &status) != 0 || change_time(status, monotonic_ns()) > time)
    return std::nullopt;
  return read_found(place, found, pid, time);
}

std::optional<RecordedPerfMap> PerfMaps::read_found(const Place& place, const UniqueFd& found,
                                                    uint32_t pid, uint64_t time) {
  struct stat status {};
  if (!found || fstat(found.get(), &status) != 0)
    return std::nullopt;
  RecordedPerfMap map = {.time = time,
                         .pid = pid,
                         .path = "/tmp/" + name_of(place),
                         .text = {},
                         .problem = distrust(status, place)};
  if (map.problem.empty()) {
    // A map that was watched gets a mark for its lines since the last look, too.
    Place last = place;
    if (!last.marks.empty())
      note_size(last, status);
    map.marks = std::move(last.marks);
    read_text(found, static_cast<uint64_t>(status.st_size), map);
  }
  // The text is no longer than that: read_text() keeps within it.
  bytes_left_ -= map.text.size();
  return map;
}

}  // namespace gosym
