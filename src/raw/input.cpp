#include "raw/input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

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

// What cannot be read at other places than the next. Of what is no recording the start is
// enough to say so: it may have no end.
Result<UniqueFd> copy_stream(int stream) {
  UniqueFd copy = open_temporary_file();
  if (!copy)
    return last_error();
  std::string buffer(size_t{256} << 10, '\0');
  for (bool is_start = true;; is_start = false) {
    ssize_t count = ::read(stream, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return last_error();
    if (count == 0)
      return copy;
    if (!write_all(copy.get(), {buffer.data(), static_cast<size_t>(count)}))
      return last_error().context("cannot keep it");
    std::string_view read(buffer.data(), static_cast<size_t>(count));
    if (is_start && read.substr(0, kMagic.size()) != kMagic.substr(0, read.size()))
      return copy;
  }
}

}  // namespace

Result<std::shared_ptr<const Input>> Input::open(const std::string& path) {
  UniqueFd file(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0)
    return last_error();
  if (S_ISDIR(status.st_mode))
    return Error(std::strerror(EISDIR));
  bool has_places = S_ISREG(status.st_mode) && lseek(file.get(), 0, SEEK_CUR) == 0;
  if (!has_places) {
    auto copy = copy_stream(file.get());
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
