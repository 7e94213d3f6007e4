#include "raw/input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/mapped_file.h"
#include "raw/format.h"

namespace gosym::raw {

namespace {

Error last_error() {
  return Error(std::strerror(errno));
}

UniqueFd open_temporary_file() {
  std::error_code failed;
  std::string directory = std::filesystem::temp_directory_path(failed);
  UniqueFd file;
  if (!failed)
    file.reset(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file)  // some file systems have no such files
    file.reset(memfd_create("recording", MFD_CLOEXEC));
  return file;
}

bool write_all(int fd, std::span<const char> data) {
  while (!data.empty()) {
    ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    data = data.subspan(static_cast<size_t>(count));
  }
  return true;
}

// A pipe gives little at once, and the limit is told by more than that.
constexpr size_t kBeginBytes = 16 << 10;

// A stream cannot be read at other places than the next: it is copied.
Result<UniqueFd> copy_stream(int stream, const Input::StreamLimit& limit_of) {
  UniqueFd copy = open_temporary_file();
  if (!copy)
    return last_error();
  std::string begin;
  std::optional<uint64_t> limit;
  std::string buffer(size_t{256} << 10, '\0');
  for (uint64_t copied = 0; !limit || copied < *limit;) {
    ssize_t count = ::read(stream, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return last_error();
    if (count == 0)
      break;
    std::string_view read(buffer.data(), static_cast<size_t>(count));
    if (!write_all(copy.get(), read))
      return last_error().context("cannot keep it");
    copied += read.size();
    if (limit)
      continue;
    begin.append(read);
    if (begin.size() >= kBeginBytes)
      limit = limit_of(begin);
  }
  return copy;
}

}  // namespace

uint64_t Input::limit_of_recording(std::string_view begin) {
  return begin.starts_with(kMagic) ? UINT64_MAX : begin.size();
}

Result<std::shared_ptr<const Input>> Input::open(const std::string& path,
                                                 const StreamLimit& limit) {
  UniqueFd file(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0)
    return last_error();
  if (S_ISDIR(status.st_mode))
    return Error(std::strerror(EISDIR));
  bool has_places = S_ISREG(status.st_mode) && lseek(file.get(), 0, SEEK_CUR) == 0;
  if (!has_places) {
    auto copy = copy_stream(file.get(), limit);
    if (!copy)
      return std::move(copy).error();
    file = *std::move(copy);
    if (fstat(file.get(), &status) != 0)
      return last_error();
  }
  return std::shared_ptr<const Input>(
      new Input(std::move(file), static_cast<uint64_t>(status.st_size)));
}

size_t Input::read(uint64_t offset, std::span<char> out) const {
  if (offset >= size_)
    return 0;
  out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
  if (!file_) {
    std::memcpy(out.data(), memory_.data() + offset, out.size());
    return out.size();
  }
  return read_at(file_.get(), offset, std::as_writable_bytes(out));
}

}  // namespace gosym::raw
