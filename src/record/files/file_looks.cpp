#include "record/files/file_looks.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file_tree.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "confine/opener.h"
#include "proc/process.h"
#include "proc/smaps.h"
#include "record/files/found_file.h"
#include "record/files/image_file.h"

namespace gosym {

namespace {

// File systems whose data the kernel has in memory or reads from a disk: a read cannot hang.
constexpr long kLocal[] = {
    EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,  TMPFS_MAGIC,
    RAMFS_MAGIC,      HUGETLBFS_MAGIC, SQUASHFS_MAGIC,    ISOFS_SUPER_MAGIC, MSDOS_SUPER_MAGIC,
    0xe0f5e1e2,   // EROFS
    0x2fc12fc1,   // ZFS
    0xca451a4e};  // bcachefs

bool is_in_our_user_namespace(uint32_t pid) {
  struct stat ours {};
  struct stat theirs {};
  return stat("/proc/self/ns/user", &ours) == 0 &&
         stat(fmt::format("/proc/{}/ns/user", pid).c_str(), &theirs) == 0 &&
         ours.st_ino == theirs.st_ino;
}

// A user with a user namespace of his own can mount an overlay over a file system that he
// serves himself.
bool is_local(const UniqueFd& file, uint32_t pid) {
  struct statfs status {};
  if (fstatfs(file.get(), &status) != 0)
    return false;
  if (status.f_type == OVERLAYFS_SUPER_MAGIC)
    return pid == 0 || is_in_our_user_namespace(pid);
  return std::ranges::find(kLocal, static_cast<long>(status.f_type)) != std::end(kLocal);
}

bool is_there(const std::string& path, const FileKey& key) {
  return is_file(find_file(path), key);
}

}  // namespace

Result<OpenedFile> look_at_mapped_file(const RawMapping& mapping) {
  auto file = open_mapped_file(mapping);
  if (!file)
    return std::move(file).error();
  struct stat status {};
  if (fstat(file->get(), &status) != 0)
    return system_error("cannot be read", errno);
  if (!may_be_code(*file))
    return Error("neither code, nor may others than its owner read it");
  OpenedFile opened = {.file = {},
                       .is_local = is_local(*file, mapping.pid),
                       .device = status.st_dev,
                       .inode = status.st_ino,
                       .size = static_cast<uint64_t>(status.st_size),
                       .mtime_ns = mtime_ns(status),
                       .is_at_path = false,
                       .contents = {}};
  opened.is_at_path = status.st_nlink > 0 && is_there(mapping.path, key_of(*file));
  opened.file = *std::move(file);
  return opened;
}

UniqueFd look_for_file(const std::string& path, const FileKey& key) {
  UniqueFd found = find_file(path);
  if (!is_file(found, key) || !is_local(found, 0))
    return {};
  auto file = open_found(found);
  return file && may_be_code(*file) ? *std::move(file) : UniqueFd();
}

bool is_named_as_perf_map(std::string_view path) {
  constexpr std::string_view kBegin = "perf-";
  constexpr std::string_view kEnd = ".map";
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd))
    return false;
  size_t size = name.size() - std::min(name.size(), kBegin.size() + kEnd.size());
  return size > 0 && parse_decimal(name.substr(kBegin.size(), size)).has_value();
}

UniqueFd look_at_perf_map(const UniqueFd& found) {
  struct stat status {};
  if (fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode) || !is_local(found, 0) ||
      !is_named_as_perf_map(real_path(found, "")))
    return {};
  auto file = open_found(found);
  return file ? *std::move(file) : UniqueFd();
}

UniqueFd look_for_tmp(uint32_t pid) {
  UniqueFd found = find_below(find_root_of(pid), "/tmp");
  return found && is_local(found, pid) ? std::move(found) : UniqueFd();
}

UniqueFd look_for_mount_owner(uint32_t pid) {
  UniqueFd mounts(open(fmt::format("/proc/{}/ns/mnt", pid).c_str(), O_RDONLY | O_CLOEXEC));
  return UniqueFd(mounts ? ioctl(mounts.get(), NS_GET_USERNS) : -1);
}

Result<std::string> look_at_maps(uint32_t pid) {
  return proc::maps_text_of(pid);
}

Result<std::string> look_at_smaps(uint32_t pid) {
  return proc::smaps_text_of(pid);
}

}  // namespace gosym
