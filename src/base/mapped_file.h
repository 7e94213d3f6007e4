#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

// A regular file mapped for as long as the object lives. Whatever is parsed from it borrows
// from it. Its bytes are our own copy: what is written over them does not reach the file.
//
// Pages that a file has lost because it shrank read as zeros (sigbus_handler.h). Executables
// cannot be truncated while they run (ETXTBSY) and libraries are replaced by rename, so images
// are mapped; data files and /proc are read into memory (read_file).
class MappedFile {
public:
  // With a `root`, the path is one below it (see file_tree.h). Fails for files of more than
  // 64 MiB that are holes for the most part.
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path,
                                                  const std::string& root = "");
  // Maps a file that was found, or is open for reading. `may_have_holes`: it is a copy without
  // some parts of the original, which has holes in their place.
  static Result<std::unique_ptr<MappedFile>> open(const UniqueFd& found,
                                                  bool may_have_holes = false);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Bytes bytes() const { return bytes_; }
  // Gives back pages that were looked at, which count as memory of the process: they are read
  // again when they are next. Nothing may have been written over them.
  void forget_pages() const;
  std::span<std::byte> writable_bytes() { return bytes_; }
  int64_t mtime_ns() const { return mtime_ns_; }  // since 1970
  // The user who wrote it, for nobody else could but root. None where others may write it, and
  // on FUSE, where a user's own program says whose files are.
  std::optional<uid_t> owner() const { return owner_; }

private:
  MappedFile(std::span<std::byte> bytes, int64_t mtime_ns, std::optional<uid_t> owner)
      : bytes_(bytes), mtime_ns_(mtime_ns), owner_(owner) {}

  std::span<std::byte> bytes_;
  int64_t mtime_ns_;
  std::optional<uid_t> owner_;
};

// When the contents were last changed, since 1970.
int64_t mtime_ns(const struct stat& status);

// The whole contents of a file, such as one of /proc, which has no size beforehand. More than
// `limit` bytes are an error. Messages do not repeat the path.
Result<std::string> read_file(const std::string& path, size_t limit);
// Reads an open file to its end; `fd` stays the caller's.
Result<std::string> read_file(int fd, size_t limit);

// A file without a name with these bytes, to be read from its begin. errno says why there is
// none.
UniqueFd file_in_memory(Bytes contents);

// Reads at a place of an open file; how many bytes there were. Fewer than wanted: the file ends
// there, and errno is 0, or errno says what is wrong.
size_t read_at(int fd, uint64_t offset, std::span<std::byte> out);

// Writes at a place of an open file, all of it. False: errno says why not.
bool write_at(int fd, uint64_t offset, std::string_view bytes);

}  // namespace gosym
