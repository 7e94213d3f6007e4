#include "output/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <new>
#include <utility>

#include "base/exit_status.h"
#include "base/file_tree.h"
#include "base/uninterrupted.h"

// A new file is written under a temporary name beside its own, and renamed when it is whole.
// Devices, pipes and links are written in place.
namespace gosym {

namespace {

constexpr mode_t mode_for(Readers readers) {
  return readers == Readers::kOwner ? 0600 : 0666;  // less the umask
}

// Each write costs a call, and lines of folded stacks are short.
constexpr size_t kBufferSize = 256 << 10;

// Devices, pipes and what a symbolic link leads to are written where they are: a new file in
// their place would not be what was asked for. Not so what others have put there.
Result<bool> must_write_in_place(const std::string& path) {
  struct stat status {};
  // Without a file a new one is made; open() tells of all other errors.
  if (lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode))
    return false;
  if (is_planted(path, status))
    return planted_error(path, status);
  return true;
}

}  // namespace

Error write_error(const std::string& path, int cause) {
  std::string name = path == "-" ? "to standard output" : fmt::format("'{}'", path);
  Error error = system_error("cannot write " + name, cause);
  bool is_full = cause == ENOSPC || cause == EDQUOT;
  return std::move(error).with_exit_status(is_full ? kPartial : kFailure);
}

Result<OutputFile> OutputFile::open(const std::string& path, Readers readers) {
  if (path == "-")
    // A copy of the descriptor: closing the file must not close standard output.
    // If there is none, the first write fails and tells why.
    return OutputFile(path, "", UniqueFd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)));
  auto is_in_place = must_write_in_place(path);
  if (!is_in_place)
    return std::move(is_in_place).error();
  std::string temporary = *is_in_place ? "" : fmt::format("{}.{}.tmp", path, getpid());
  // O_EXCL refuses a temporary name that is taken, and follows no link that somebody has put
  // there.
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (*is_in_place ? O_TRUNC : O_EXCL);
  UniqueFd fd(
      ::open(*is_in_place ? path.c_str() : temporary.c_str(), flags, mode_for(readers)));
  if (!fd)
    return write_error(path, errno);
  return OutputFile(path, std::move(temporary), std::move(fd));
}

OutputFile::~OutputFile() {
  if (fd_ && !temporary_.empty())
    unlink(temporary_.c_str());
}

bool OutputFile::write(std::string_view data) {
  size_ += data.size();
  buffer_ += data;
  return buffer_.size() < kBufferSize || flush();
}

bool OutputFile::flush() {
  if (cause_ == 0 && !write_all(fd_.get(), buffer_))
    cause_ = errno;
  buffer_.clear();
  return cause_ == 0;
}

Result<> OutputFile::finish() {
  flush();
  // A pipe is written in place: there is no temporary file that would be left.
  if (cause_ == EPIPE)
    return Ok{};
  // NFS and quotas may report only here that the data could not be stored.
  // Without a descriptor the destructor removes nothing: the temporary file is renamed or
  // removed below.
  if (cause_ == 0 && close(fd_.release()) != 0)
    cause_ = errno;
  if (cause_ == 0 && !temporary_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0)
    cause_ = errno;
  if (cause_ == 0)
    return Ok{};
  if (!temporary_.empty())
    unlink(temporary_.c_str());
  return write_error(path_, cause_);
}

namespace {

constexpr int kGzipFormat = 16;  // added to the window size: deflateInit2's way to ask for it
constexpr size_t kStep = 1 << 16;

// Go's runtime writes its profiles at this level: a profile with 93,000 samples takes 2.0 MB
// and 56 ms, at the usual level 1.8 MB and 147 ms.
constexpr int kLevel = Z_BEST_SPEED;

class GzipStream {
public:
  explicit GzipStream(const Write& out) : out_(out) {
    int status = deflateInit2(&stream_, kLevel, Z_DEFLATED, MAX_WBITS + kGzipFormat, 8,
                              Z_DEFAULT_STRATEGY);
    if (status != Z_OK)
      throw std::bad_alloc();  // the only reason there is
  }
  ~GzipStream() { deflateEnd(&stream_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  bool write(std::string_view data) {
    bool is_read = true;
    while (!data.empty()) {
      // zlib counts in 32 bits.
      std::string_view part = data.substr(0, UINT_MAX);
      is_read = deflate_all(part, Z_NO_FLUSH);
      data.remove_prefix(part.size());
    }
    return is_read;
  }
  // The trailer of gzip has the sum and size of all: without it a reader takes the file for
  // cut.
  void finish() { deflate_all({}, Z_FINISH); }

private:
  // zlib has taken all when it leaves room in the buffer.
  bool deflate_all(std::string_view data, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream_.avail_in = static_cast<uInt>(data.size());
    bool is_read = true;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      deflate(&stream_, flush);
      size_t size = buffer_.size() - stream_.avail_out;
      if (size > 0)
        is_read = out_(std::string_view(buffer_).substr(0, size));
    } while (stream_.avail_out == 0);
    return is_read;
  }

  const Write& out_;
  std::string buffer_ = std::string(kStep, '\0');
  z_stream stream_{};
};

}  // namespace

void write_gzipped(const std::function<void(const Write&)>& make, const Write& write) {
  GzipStream stream(write);
  make([&](std::string_view data) { return stream.write(data); });
  stream.finish();
}

std::string gzip(std::string_view contents) {
  return written_by(write_gzipped, [&](const Write& write) { write(contents); });
}

}  // namespace gosym
