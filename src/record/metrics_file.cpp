#include "record/metrics_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "base/uninterrupted.h"
#include "confine/channel.h"
#include "confine/child.h"
#include "confine/process_kind.h"

namespace gosym {

namespace {

constexpr size_t kMaxMetrics = 16 << 10;

struct MetricsAsked {
  uint32_t size = 0;
  char text[kMaxMetrics] = {};
};
struct MetricsDone {
  int32_t error = 0;
};

// node_exporter reads the file at any time: it is there whole or not at all.
int replace_file(int directory, const std::string& name, std::string_view text) {
  constexpr mode_t kForAll = 0644;
  std::string draft = "." + name + ".tmp";
  // A draft may be left of a recorder that was killed.
  unlinkat(directory, draft.c_str(), 0);
  UniqueFd file(openat(directory, draft.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kForAll));
  if (!file)
    return errno;
  bool is_done = write_all(file.get(), text) &&
                 renameat(directory, draft.c_str(), directory, name.c_str()) == 0;
  int error = is_done ? 0 : errno;
  if (!is_done)
    unlinkat(directory, draft.c_str(), 0);
  return error;
}

}  // namespace

Result<> MetricsFile::start(const std::string& path) {
  std::filesystem::path whole(path);
  std::string name = whole.filename();
  std::string folder = whole.has_parent_path() ? whole.parent_path().string() : ".";
  // Opened here, so that a wrong path is told at the start.
  UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory)
    return system_error(fmt::format("'{}'", printable(folder)), errno);
  int fd = directory.get();
  int started = start_child(channel_, {fd}, [&](int channel) {
    constexpr mode_t kNotToWrite = 022;
    umask(kNotToWrite);
    enter(ProcessKind::kStorer, {.written = {folder}});
    static MetricsAsked asked;
    UniqueFd none;
    // A message may be shorter than the struct: the text has no fixed size.
    while (receive_message(channel, asked, sizeof(asked.size), none)) {
      none = UniqueFd();
      size_t size = std::min<size_t>(asked.size, kMaxMetrics);
      MetricsDone done{replace_file(fd, name, {asked.text, size})};
      if (!send_message(channel, done, sizeof(done), -1))
        return;
    }
  });
  return started < 0 ? system_error("cannot start a process", errno) : Result<>(Ok{});
}

int MetricsFile::write(std::string_view text) {
  static MetricsAsked asked;
  asked.size = static_cast<uint32_t>(std::min(text.size(), kMaxMetrics));
  memcpy(asked.text, text.data(), asked.size);
  MetricsDone done;
  UniqueFd none;
  if (!send_message(channel_.get(), asked, offsetof(MetricsAsked, text) + asked.size, -1) ||
      !receive_message(channel_.get(), done, sizeof(done), none))
    return EPIPE;
  return done.error;
}

std::string metric_text(std::string_view name, std::string_view type, std::string_view help,
                        double value) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
}

}  // namespace gosym
