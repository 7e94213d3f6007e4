#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/recording.h"
#include "record/files/archived_parts.h"
#include "record/sideband_record.h"

namespace gosym {

// Bounds the bytes that files of each user take in a recording: a user who deletes and runs
// file after file fills neither the disk nor the time after a recording. Files of root and our
// own are bounded together only, and `--archive=all` of a host comes nowhere near.
//
// Users that a user may have in his containers (subuid(5)) are he himself.
class ArchiveShares {
public:
  // The text of /etc/subuid, and what gives the number of a user's name; none: no such user.
  using FindUser = std::optional<uid_t> (*)(const std::string& name);
  explicit ArchiveShares(std::string_view subordinates, FindUser find_user);
  // Uses /etc/subuid and the users of this host.
  ArchiveShares();

  // Fails if there is no room for so many bytes of a file of this user.
  Result<> take(uid_t user, uint64_t size);

  // Nothing is taken any more: what comes next is for another recording.
  void begin_anew() {
    sizes_.clear();
    size_ = 0;
  }

private:
  struct Subordinates {
    uid_t begin;
    uid_t count;
    uid_t user;
  };
  uid_t account_of(uid_t user) const;

  std::vector<Subordinates> subordinates_;
  std::map<uid_t, uint64_t> sizes_;  // bytes that are kept, by user
  uint64_t size_ = 0;                // bytes that are kept of all users together
};

// Gives what is kept of a file, piece by piece. It reads what it gives and the headers, and not
// by a mapping: files of others may be cut short at any time.
class ImagePieces {
public:
  // `file` is that of the image, open for reading. Fails if it is no ELF file or too large.
  // With data left out also if nothing tells these from the rest.
  static Result<ImagePieces> open(ImageId image, UniqueFd file,
                                  ArchivedData data = ArchivedData::kKept);

  uint64_t size() const { return parts_.size; }

  // None after the last one.
  std::optional<Result<ImagePiece>> next();

private:
  ImagePieces(ImageId image, UniqueFd file, ByteOrder order, ArchivedParts parts)
      : image_(image), file_(std::move(file)), order_(order), parts_(std::move(parts)) {}
  void hide_sections(ImagePiece& piece) const;

  ImageId image_;
  UniqueFd file_;
  ByteOrder order_;
  ArchivedParts parts_;
  size_t extent_ = 0;   // the one that the next piece is of
  uint64_t taken_ = 0;  // of that
};

class FileHelper;

enum class ArchiveMode : uint8_t {
  kNone,
  kAuto,  // files that will be gone when the recording is read
  kAll,
};

struct ArchiveChoice {
  ArchiveMode mode = ArchiveMode::kAuto;
  ArchivedData data = ArchivedData::kKept;
};

// Chooses which files of a recording are kept in it, and gives their pieces. Kept are those
// that processes map of which there are samples. By kAuto only if they vanish: if they are
// deleted, replaced or memfds, now or later, or lie where only the processes see them, as in a
// container.
//
// Files are held open from when their images are identified, as many as the limit of
// descriptors allows.
class Archive {
public:
  // Files that are no longer open are found by the helper, which must outlive the archive.
  Archive(ArchiveChoice choice, FileHelper& helper)
      : mode_(choice.mode), data_(choice.data), helper_(helper) {}

  // Takes the file of a new image. `path` is that which its process sees; `is_at_path`: it
  // leads to the file from here, too.
  void hold(ImageId image, UniqueFd file, const std::string& path, bool is_at_path);

  // Images that one process has mapped and that are not wanted yet.
  using Images = std::set<ImageId>;
  void map(Images& images, ImageId image) const;
  // The process has samples.
  void want(Images& images);

  // Looks which of the wanted files have to be kept by now.
  void choose();
  // The next piece of what was chosen, or why a file is not kept; none if there is no more. A
  // file that is larger than `room`, in bytes, is not begun.
  std::optional<ImagePiece> next(uint64_t room);

  // All that comes next is for another recording, and so are the problems.
  void begin_part() {
    shares_.begin_anew();
    problems_.clear();
  }

  // "'/opt/server': more files than could be held open"; one for each file that was chosen and
  // is not kept, or not all of it that names its code.
  const std::vector<std::string>& problems() const { return problems_; }

private:
  struct Held {
    UniqueFd file;  // none: there were too many
    FileKey key;
    std::string path;
    bool is_vanishing = false;
  };
  struct Chosen {
    ImageId image{};
    UniqueFd file;
    std::string path;
  };
  bool is_due(const Held& held) const;
  void close_one();
  std::optional<Result<ImagePiece>> next_of_first(uint64_t room);
  void drop_first();

  UniqueFd find_again(const Held& held) const;

  ArchiveMode mode_;
  ArchivedData data_;
  FileHelper& helper_;
  std::map<ImageId, Held> held_;
  size_t open_count_ = 0;
  std::set<ImageId> wanted_;
  std::deque<Chosen> chosen_;
  std::optional<ImagePieces> pieces_;  // the file that is being written
  ArchiveShares shares_;               // counts the bytes for each owner of files
  std::vector<std::string> problems_;
};

}  // namespace gosym
