#include "base/file_tree.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

namespace gosym {

namespace {

// The path of a file that is open, as the kernel knows it now: without links; empty if /proc
// is not mounted.
std::string path_of(const UniqueFd& found) {
  char path[PATH_MAX];
  ssize_t size =
      readlink(fmt::format("/proc/self/fd/{}", found.get()).c_str(), path, sizeof(path));
  return {path, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

UniqueFd open_root(const std::string& root) {
  return UniqueFd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

UniqueFd find_file(const std::string& path, const std::string& root) {
  if (root.empty())
    return UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  UniqueFd top = open_root(root);
  return top ? find_below(top, path) : UniqueFd();
}

UniqueFd find_below(const UniqueFd& root, const std::string& path) {
  // openat2(2), since Linux 5.6, resolves links and ".." as if `root` were the root directory.
  // Done by hand, another process could exchange a directory between a check and its use.
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  return UniqueFd(
      static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
}

Result<UniqueFd> reopen(const UniqueFd& found) {
  // The link leads to the file itself, whatever is at its path by now. O_NONBLOCK is for
  // FIFOs, whose open(2) waits for a writer.
  UniqueFd file(::open(fmt::format("/proc/self/fd/{}", found.get()).c_str(),
                       O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file)
    return file;
  // It is there, as it was found: what is missing is the way to it.
  if (errno == ENOENT)
    return Error("Linux opens it by way of /proc, which is not mounted here");
  return Error(std::strerror(errno));
}

std::string real_path(const UniqueFd& found, const std::string& root) {
  std::string path = path_of(found);
  std::string top = root.empty() ? "/" : path_of(open_root(root));
  if (top == "/")
    return path;
  return path.starts_with(top + "/") ? path.substr(top.size()) : "";
}

bool is_planted(const std::string& path, const struct stat& status) {
  std::string directory = std::filesystem::path(path).parent_path();
  // Only in a directory where everybody may write can a stranger have put it.
  struct stat parent {};
  bool is_shared = stat(directory.empty() ? "." : directory.c_str(), &parent) == 0 &&
                   (parent.st_mode & S_IWOTH) != 0;
  return is_shared && status.st_uid != geteuid() && status.st_uid != getuid();
}

Error planted_error(const std::string& path, const struct stat& status) {
  return errorf("'{}' belongs to user {}, in a directory where everybody may write", path,
                status.st_uid)
      .with_hint("name another file");
}

bool rename_to_nothing(int directory, const std::string& from, const std::string& to) {
  constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE, since Linux 3.15
  if (syscall(SYS_renameat2, directory, from.c_str(), directory, to.c_str(), kNoReplace) == 0)
    return true;
  // EINVAL: the file system does not know the flag. Anything else is the answer.
  if (errno != EINVAL)
    return false;
  struct stat status {};
  if (fstatat(directory, to.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return false;
  }
  return renameat(directory, from.c_str(), directory, to.c_str()) == 0;
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace gosym
