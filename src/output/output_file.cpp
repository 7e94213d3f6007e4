#include "output/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "base/exit_status.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace gosym {

namespace {

constexpr mode_t kMode = 0666;  // less the umask

// 0, or what went wrong as an errno value.
int write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    ssize_t written = write(fd, data.data(), data.size());
    if (written < 0 && errno == EPIPE)
      return 0;
    if (written < 0 && errno != EINTR)
      return errno;
    data.remove_prefix(written > 0 ? static_cast<size_t>(written) : 0);
  }
  return 0;
}

int close_checked(UniqueFd fd) {
  return close(fd.release()) == 0 ? 0 : errno;
}

Error write_error(const std::string& path, int cause) {
  std::string name = path == "-" ? "standard output" : fmt::format("'{}'", printable(path));
  Error error = system_error("cannot write " + name, cause);
  bool is_full = cause == ENOSPC || cause == EDQUOT;
  return std::move(error).with_exit_status(is_full ? kPartial : kFailure);
}

// Devices, pipes and what a symbolic link leads to are written where they are: a new file in
// their place would not be what was asked for.
bool must_write_in_place(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

int write_in_place(const std::string& path, std::string_view data) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (!fd)
    return errno;
  int cause = write_all(fd.get(), data);
  return cause != 0 ? cause : close_checked(std::move(fd));
}

int write_and_rename(const std::string& path, std::string_view data) {
  std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!fd)
    return errno;
  int cause = write_all(fd.get(), data);
  if (cause == 0)
    cause = close_checked(std::move(fd));
  if (cause == 0 && rename(temporary.c_str(), path.c_str()) != 0)
    cause = errno;
  if (cause != 0)
    unlink(temporary.c_str());
  return cause;
}

}  // namespace

Result<> write_output(const std::string& path, std::string_view data) {
  int cause = path == "-"                 ? write_all(STDOUT_FILENO, data)
              : must_write_in_place(path) ? write_in_place(path, data)
                                          : write_and_rename(path, data);
  return cause == 0 ? Result<>(Ok()) : write_error(path, cause);
}

}  // namespace gosym
