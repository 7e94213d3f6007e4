#include "record/files/image_file.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>

#include "record/files/found_file.h"

namespace gosym {

namespace {

bool is_regular(const UniqueFd& found) {
  struct stat status {};
  return found && fstat(found.get(), &status) == 0 && S_ISREG(status.st_mode);
}

// For the kernel it is a file, and may hold a copy of the code that is looked for.
bool is_huge_memory(const UniqueFd& found) {
  struct statfs status {};
  return fstatfs(found.get(), &status) == 0 && status.f_type == HUGETLBFS_MAGIC;
}

}  // namespace

bool is_file(const UniqueFd& found, const FileKey& key) {
  FileKey known = key_of(found);
  return is_regular(found) && known.device == key.device && known.inode == key.inode;
}

FileKey key_of(const UniqueFd& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0)
    return {};
  return {.device = status.st_dev, .inode = status.st_ino};
}

bool strip_deleted(std::string& path) {
  constexpr std::string_view kMark = " (deleted)";
  if (!path.ends_with(kMark))
    return false;
  path.resize(path.size() - kMark.size());
  return true;
}

Result<UniqueFd> open_mapped_file(const RawMapping& mapping) {
  UniqueFd found = find_file(fmt::format("/proc/{}/map_files/{:x}-{:x}", mapping.pid,
                                         mapping.start, mapping.start + mapping.length));
  if (is_regular(found) && !is_huge_memory(found))
    return open_found(found);
  found = find_file(fmt::format("/proc/{}/exe", mapping.pid));
  if (is_file(found, mapping.file))
    return open_found(found);

  std::string path = mapping.path;
  if (UniqueFd root = find_root_of(mapping.pid))
    found = find_below(root, path);
  if (!is_file(found, mapping.file))
    found = find_file(path);
  int cause = errno;
  if (!is_file(found, mapping.file) && strip_deleted(path))
    return Error("deleted, and gosym cannot open it");
  if (!found)
    return system_error("cannot be found", cause);
  if (!is_file(found, mapping.file))
    return Error("another file has its path now");
  return open_found(found);
}

}  // namespace gosym
