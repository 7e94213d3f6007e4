#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/file_tree.h"

namespace gosym {

namespace {

Result<struct stat> status_of_regular(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0)
    return Error(std::strerror(errno));
  if (S_ISDIR(status.st_mode))
    return Error(std::strerror(EISDIR));
  if (!S_ISREG(status.st_mode))
    return Error("not a regular file");
  return status;
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path,
                                                     const std::string& root) {
  UniqueFd found = find_file(path, root);
  if (!found)
    return Error(std::strerror(errno));
  return open(found);
}

Result<std::unique_ptr<MappedFile>> MappedFile::open(const UniqueFd& found) {
  auto status = status_of_regular(found.get());
  if (!status)
    return std::move(status).error();
  UniqueFd opened;
  if ((fcntl(found.get(), F_GETFL) & O_PATH) != 0) {
    opened = UniqueFd(::open(fmt::format("/proc/self/fd/{}", found.get()).c_str(),
                             O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!opened)
      return Error(std::strerror(errno));
  }
  int fd = opened ? opened.get() : found.get();

  auto size = static_cast<size_t>(status->st_size);
  int64_t changed = gosym::mtime_ns(*status);
  if (size == 0)
    return std::unique_ptr<MappedFile>(new MappedFile({}, changed));
  void* address =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (address == MAP_FAILED)
    return Error(std::strerror(errno));
  return std::unique_ptr<MappedFile>(
      new MappedFile({static_cast<std::byte*>(address), size}, changed));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    munmap(bytes_.data(), bytes_.size());
}

int64_t mtime_ns(const struct stat& status) {
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

Result<std::string> read_file(const std::string& path, size_t limit) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return Error(std::strerror(errno));
  return read_file(fd.get(), limit);
}

Result<std::string> read_file(int fd, size_t limit) {
  std::string text;
  constexpr size_t kStep = 65536;
  while (true) {
    size_t old_size = text.size();
    text.resize(old_size + kStep);
    ssize_t count = read(fd, text.data() + old_size, kStep);
    text.resize(old_size + (count > 0 ? static_cast<size_t>(count) : 0));
    if (count < 0 && errno != EINTR)
      return Error(std::strerror(errno));
    if (count == 0)
      return text;
    if (text.size() > limit)
      return errorf("more than {} bytes", limit);
  }
}

size_t read_at(int fd, uint64_t offset, std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    errno = 0;
    ssize_t count =
        pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    done += static_cast<size_t>(count);
  }
  return done;
}

}  // namespace gosym
