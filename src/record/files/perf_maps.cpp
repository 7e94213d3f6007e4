#include "record/files/perf_maps.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "proc/process.h"
#include "raw/format.h"
#include "record/files/file_helper.h"
#include "record/files/found_file.h"

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

// Why a map is not to be believed; empty if it is.
std::string distrust(const struct stat& status, uint32_t user, int64_t since_ns) {
  if (S_ISLNK(status.st_mode))
    return "not used: it is a symbolic link";
  if (!S_ISREG(status.st_mode))
    return "not used: it is no regular file";
  // Not that of root either: a user can mount any file there in a namespace of his own, and the
  // recording would show him what he may not read.
  if (status.st_uid != user)
    return fmt::format("not used: it belongs to user {}, the process to user {}", status.st_uid,
                       user);
  if (mtime_ns(status) < since_ns - kClockSlack)
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

UniqueFd PerfMaps::find_map(const Place& place, uint32_t pid, const std::string& name) const {
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
  uint64_t begin = size - std::min(size, limit);
  map.text.resize(size - begin);
  map.text.resize(read_at(file->get(), begin, std::as_writable_bytes(std::span(map.text))));
  if (begin == 0)
    return;
  map.text.erase(0, map.text.find('\n') + 1);  // the rest of a line
  map.problem = fmt::format("too large: only the last {} of {} are used", human_size(limit),
                            human_size(size));
}

std::optional<RecordedPerfMap> PerfMaps::read(const Place& place, uint32_t pid, uint64_t time) {
  std::string name = fmt::format("perf-{}.map", place.own_pid);
  UniqueFd found = find_map(place, pid, name);
  struct stat status {};
  if (!place.has_code || !found || fstat(found.get(), &status) != 0)
    return std::nullopt;
  RecordedPerfMap map = {
      .time = time, .pid = pid, .path = "/tmp/" + name, .text = {}, .problem = {}};
  map.problem = distrust(status, place.user, place.since_ns);
  if (map.problem.empty())
    read_text(found, static_cast<uint64_t>(status.st_size), map);
  bytes_left_ -= map.text.size();
  return map;
}

}  // namespace gosym
