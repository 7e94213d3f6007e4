#include "raw/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace gosym::raw {

namespace {

bool is_stream(const struct stat& status) {
  return S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode);
}

std::string quoted(const std::string& path) {
  return fmt::format("'{}'", path);
}

Error is_link(const std::string& path) {
  return errorf("'{}' is a symbolic link", path).with_hint("name the file itself");
}

Result<OutputFile> open_standard_output() {
  UniqueFd fd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!fd)
    return system_error("cannot write to standard output", errno);
  return OutputFile{std::move(fd), "standard output"};
}

Result<OutputFile> create(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd)
    return system_error("cannot create " + quoted(path), errno);
  flock(fd.get(), LOCK_EX | LOCK_NB);  // for open_to_append; some file systems have no locks
  return OutputFile{std::move(fd), quoted(path), /*is_ours=*/true};
}

Result<OutputFile> open_stream(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0)
    return system_error("cannot write " + quoted(path), errno);
  if (!is_stream(status))  // no longer what it was a moment ago
    return system_error("cannot write " + quoted(path), EEXIST);
  return OutputFile{std::move(fd), quoted(path)};
}

Result<OutputFile> replace(const std::string& path) {
  std::string old = path + ".old";
  if (::rename(path.c_str(), old.c_str()) != 0)
    return system_error(fmt::format("cannot rename '{}' to '{}'", path, old), errno);
  return create(path);
}

}  // namespace

Result<OutputFile> open_output(const std::string& path) {
  if (path == "-")
    return open_standard_output();

  struct stat link {};
  if (lstat(path.c_str(), &link) != 0)
    return errno == ENOENT ? create(path)
                           : system_error("cannot create " + quoted(path), errno);
  if (S_ISREG(link.st_mode))
    return replace(path);

  struct stat target {};
  if (stat(path.c_str(), &target) == 0 && is_stream(target))
    return open_stream(path);
  if (S_ISLNK(link.st_mode))
    return is_link(path);
  if (S_ISDIR(link.st_mode))
    return system_error("cannot write " + quoted(path), EISDIR);
  return errorf("'{}' is neither a file nor a FIFO", path);
}

Result<OutputFile> open_to_append(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd && errno == ELOOP)
    return is_link(path);
  if (!fd || fstat(fd.get(), &status) != 0)
    return system_error("cannot write " + quoted(path), errno);
  if (!S_ISREG(status.st_mode))
    return errorf("cannot write {}: not a regular file", quoted(path));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return errorf("cannot write {}: it is being recorded", quoted(path));
  return OutputFile{std::move(fd), quoted(path), /*is_ours=*/true};
}

}  // namespace gosym::raw
