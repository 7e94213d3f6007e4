#include "base/mapped_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_tree.h"
#include "base/text.h"
#include "base/uninterrupted.h"

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

std::optional<uid_t> owner_of(int fd, const struct stat& status) {
  struct statfs system {};
  if ((status.st_mode & S_IWOTH) != 0 || fstatfs(fd, &system) != 0 ||
      system.f_type == FUSE_SUPER_MAGIC)
    return std::nullopt;
  return status.st_uid;
}

// A file may be terabytes of nothing: to look through them would take hours, and memory for
// each page. Programs that linkers make have few holes.
constexpr uint64_t kUsualSize = 64 << 20;
constexpr uint64_t kMaxHoles = 16;  // bytes for each one that is there

// The bytes of a file that its file system holds; all of them where it cannot tell.
uint64_t data_size(int fd, uint64_t size) {
  // SEEK_DATA and SEEK_HOLE walk from one piece to the next. A file of very many pieces is
  // taken for whole rather than walked to its end.
  constexpr int kMaxExtents = 4096;
  uint64_t sum = 0;
  off_t end = 0;
  for (int i = 0; i < kMaxExtents; i++) {
    off_t begin = lseek(fd, end, SEEK_DATA);
    // ENXIO: nothing but a hole follows, or the file ends.
    if (begin < 0)
      return errno == ENXIO ? sum : size;
    end = lseek(fd, begin, SEEK_HOLE);
    // The file has changed meanwhile, or its file system does not tell: it counts as whole.
    if (end <= begin)
      return size;
    sum += static_cast<uint64_t>(end - begin);
  }
  return size;
}

Result<> check_holes(int fd, uint64_t size) {
  if (size <= kUsualSize)
    return Ok{};
  uint64_t data = data_size(fd, size);
  if (data >= size / kMaxHoles)
    return Ok{};
  return errorf("nearly all of it is missing: {} of {} are there", human_size(data),
                human_size(size));
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path,
                                                     const std::string& root) {
  UniqueFd found = find_file(path, root);
  if (!found)
    return Error(std::strerror(errno));
  return open(found);
}

Result<std::unique_ptr<MappedFile>> MappedFile::open(const UniqueFd& found,
                                                     bool may_have_holes) {
  auto status = status_of_regular(found.get());
  if (!status)
    return std::move(status).error();
  UniqueFd opened;
  // A file that was only found (O_PATH) cannot be mapped: it is opened by its descriptor, so
  // that it is the very file whose status was checked above.
  if ((fcntl(found.get(), F_GETFL) & O_PATH) != 0) {
    auto again = reopen(found);
    if (!again)
      return std::move(again).error();
    opened = *std::move(again);
  }
  int fd = opened ? opened.get() : found.get();

  auto size = static_cast<size_t>(status->st_size);
  int64_t changed = gosym::mtime_ns(*status);
  auto owner = owner_of(fd, *status);
  // mmap(2) refuses a length of 0; an empty file is one without bytes.
  if (size == 0)
    return std::unique_ptr<MappedFile>(new MappedFile({}, changed, owner));
  if (!may_have_holes)
    if (auto checked = check_holes(fd, size); !checked)
      return std::move(checked).error();
  // Private and writable, as Go's tables may have to be relocated in place: pages that are
  // changed are copied, and the file stays as it is. With MAP_NORESERVE no memory is set aside
  // for those that are not.
  void* address =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (address == MAP_FAILED)
    return Error(std::strerror(errno));
  return std::unique_ptr<MappedFile>(
      new MappedFile({static_cast<std::byte*>(address), size}, changed, owner));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    munmap(bytes_.data(), bytes_.size());
}

void MappedFile::forget_pages() const {
  if (!bytes_.empty())
    madvise(bytes_.data(), bytes_.size(), MADV_DONTNEED);
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
    // Grows by what is read, and not by the size that the file claims: those of /proc claim 0.
    text.resize(old_size + kStep);
    ssize_t count = read_part(fd, std::span(text).subspan(old_size));
    text.resize(old_size + (count > 0 ? static_cast<size_t>(count) : 0));
    if (count < 0)
      return Error(std::strerror(errno));
    if (count == 0)
      return text;
    // Files of /proc have no size before they are read.
    if (text.size() > limit)
      return errorf("more than {} bytes", limit);
  }
}

UniqueFd file_in_memory(Bytes contents) {
  UniqueFd file(memfd_create("gosym", MFD_CLOEXEC));
  if (file && write_all(file.get(), as_text(contents)) && lseek(file.get(), 0, SEEK_SET) == 0)
    return file;
  return {};
}

size_t read_at(int fd, uint64_t offset, std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    // A read that ends early at the end of the file leaves errno at 0, by which callers tell
    // it from a failure.
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

bool write_at(int fd, uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return true;
}

}  // namespace gosym
