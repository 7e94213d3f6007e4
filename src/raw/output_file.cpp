#include "raw/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/mapped_file.h"
#include "base/planted_file.h"
#include "raw/format.h"

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

// A recording that was ended in order, without a sample: nothing is lost with it.
bool is_without_samples(const UniqueFd& file) {
  constexpr int kMaxChunks = 4096;
  uint64_t offset = sizeof(FileHeader);
  for (int i = 0; i < kMaxChunks; i++) {
    ChunkHeader header;
    if (read_at(file.get(), offset, std::as_writable_bytes(std::span(&header, 1))) !=
            sizeof(header) ||
        header.header_checksum != checksum(header) || header.type == ChunkType::kSamples)
      return false;
    if (header.type == ChunkType::kEnd)
      return true;
    offset += padded(sizeof(header) + header.stored_size);
  }
  return false;
}

std::string old_name(const std::string& path) {
  return path + ".old";
}

// What is there becomes PATH.old, unless somebody writes it. An older one is replaced, but not
// by what has no samples. False: nothing was renamed.
Result<bool> set_aside(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT)
    return false;
  if (file && flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return errorf("cannot create {}: another gosym records into it", quoted(path))
        .with_hint("name another file with -o");
  std::string old = old_name(path);
  if (file && access(old.c_str(), F_OK) == 0 && is_without_samples(file))
    return ::unlink(path.c_str()) == 0 || errno == ENOENT
               ? Result<bool>(false)
               : system_error("cannot replace " + quoted(path), errno);
  if (::rename(path.c_str(), old.c_str()) == 0)
    return true;
  if (errno != ENOENT)
    return system_error(fmt::format("cannot rename '{}' to '{}'", path, old), errno);
  return false;
}

// False, with EEXIST: somebody was faster. Where a file system knows no such rename, whatever
// is there is replaced.
bool rename_to_nothing(const std::string& from, const std::string& to) {
  constexpr unsigned kNoReplace = 1;
  return syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), kNoReplace) ==
             0 ||
         (errno == EINVAL && ::rename(from.c_str(), to.c_str()) == 0);
}

// It gets its name when it is locked: nobody finds it and takes it for one that is done.
Result<OutputFile> create(const std::string& path) {
  std::string draft = fmt::format("{}.{}", path, getpid());
  UniqueFd fd(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd)
    return system_error("cannot create " + quoted(path), errno);
  flock(fd.get(), LOCK_EX | LOCK_NB);  // some file systems have no locks
  constexpr int kMaxTries = 100;
  Result<> done = Ok{};
  for (int i = 0; done && i < kMaxTries; i++) {
    auto has_set_aside = set_aside(path);
    if (!has_set_aside) {
      done = std::move(has_set_aside).error();
      break;
    }
    if (rename_to_nothing(draft, path))
      return OutputFile{std::move(fd), quoted(path), /*is_ours=*/true, *has_set_aside};
    if (errno != EEXIST || i + 1 == kMaxTries)
      done = system_error("cannot create " + quoted(path), errno);
  }
  ::unlink(draft.c_str());
  return std::move(done).error();
}

// A FIFO waits for its reader. Nothing is lost while it does, so signals that the caller holds
// back end the program there.
UniqueFd open_with_signals(const std::string& path) {
  sigset_t none;
  sigset_t held;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, &held);
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  int error = errno;
  sigprocmask(SIG_SETMASK, &held, nullptr);
  errno = error;
  return fd;
}

Result<OutputFile> open_stream(const std::string& path) {
  UniqueFd fd = open_with_signals(path);
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0)
    return system_error("cannot write " + quoted(path), errno);
  if (!is_stream(status))  // no longer what it was a moment ago
    return system_error("cannot write " + quoted(path), EEXIST);
  return OutputFile{std::move(fd), quoted(path)};
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
    return create(path);
  if (is_planted(path, link))
    return planted_error(path, link);

  struct stat target {};
  if (stat(path.c_str(), &target) == 0 && is_stream(target))
    return open_stream(path);
  if (S_ISLNK(link.st_mode))
    return is_link(path);
  if (S_ISDIR(link.st_mode))
    return system_error("cannot write " + quoted(path), EISDIR);
  return errorf("'{}' is neither a file nor a FIFO", path);
}

std::optional<NewFile> new_file(const std::string& path, const OutputFile& output) {
  struct stat status {};
  if (!output.is_ours || fstat(output.fd.get(), &status) != 0)
    return {};
  return NewFile{path, status.st_dev, status.st_ino, output.has_set_aside};
}

Withdrawn withdraw(const NewFile& file) {
  UniqueFd found(::open(file.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!found || fstat(found.get(), &status) != 0 || status.st_dev != file.device ||
      status.st_ino != file.number || !is_without_samples(found))
    return Withdrawn::kNot;
  if (file.has_set_aside && ::rename(old_name(file.path).c_str(), file.path.c_str()) == 0)
    return Withdrawn::kReplaced;
  return ::unlink(file.path.c_str()) == 0 ? Withdrawn::kRemoved : Withdrawn::kNot;
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
