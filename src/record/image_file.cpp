#include "record/image_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gosym {

namespace {

// O_PATH finds a file without opening it.
UniqueFd find(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_PATH | O_CLOEXEC));
}

// Symbolic links and ".." stay below the root of the process.
UniqueFd find_below_root_of(uint32_t pid, const std::string& path) {
  UniqueFd root(
      open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root)
    return root;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  return UniqueFd(
      static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
}

bool is_regular(const UniqueFd& found) {
  struct stat status {};
  return found && fstat(found.get(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_same_file(const UniqueFd& found, const FileKey& key) {
  struct stat status {};
  return found && fstat(found.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_dev == key.device && status.st_ino == key.inode;
}

Result<UniqueFd> open_found(const UniqueFd& found) {
  std::string path = fmt::format("/proc/self/fd/{}", found.get());
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file)
    return system_error("cannot be opened", errno);
  return file;
}

}  // namespace

bool strip_deleted(std::string& path) {
  constexpr std::string_view kMark = " (deleted)";
  if (!path.ends_with(kMark))
    return false;
  path.resize(path.size() - kMark.size());
  return true;
}

Result<UniqueFd> open_mapped_file(const RawMapping& mapping) {
  UniqueFd found = find(fmt::format("/proc/{}/map_files/{:x}-{:x}", mapping.pid, mapping.start,
                                    mapping.start + mapping.length));
  if (is_regular(found))
    return open_found(found);
  found = find(fmt::format("/proc/{}/exe", mapping.pid));
  if (is_same_file(found, mapping.file))
    return open_found(found);

  std::string path = mapping.path;
  if (strip_deleted(path))
    return Error("deleted, and not open to us");
  found = find_below_root_of(mapping.pid, path);
  if (!is_same_file(found, mapping.file))
    found = find(path);
  if (!found)
    return system_error("cannot be found", errno);
  if (!is_same_file(found, mapping.file))
    return Error("another file has its path now");
  return open_found(found);
}

}  // namespace gosym
