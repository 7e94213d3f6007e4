#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

// A directory that one recorder fills, one file after the other:
//
//   web-1-20261122T130000Z.raw    a recording: its host, and when it began, of UTC
//   files/.build-id/xx/yyyy       files that recordings need, by build id
//   recorder.lock                 whoever records holds it
//
// Names that begin with a dot are drafts of these. A second recording of the same second is
// web-1-20261122T130000Z.2.raw.

namespace gosym {

inline constexpr std::string_view kFilesOfDirectory = "files";

// The part of a directory that is kept; 0: no limit.
struct Retention {
  uint64_t age_ns = 0;
  uint64_t size = 0;  // of everything in it

  bool has_limit() const { return age_ns != 0 || size != 0; }
  bool operator==(const Retention&) const = default;
};

// "24h", "7d", "10G", "24h,10G". None: it is none of these.
std::optional<Retention> parse_retention(std::string_view text);

// When a recording began, in seconds since 1970, and its number within that second, as its name
// has them. None: it is not named so.
struct NameOfRecording {
  int64_t time = 0;
  uint64_t number = 1;
  auto operator<=>(const NameOfRecording&) const = default;
};
std::optional<NameOfRecording> parse_recording_name(std::string_view name);
std::string make_recording_name(std::string_view host, const NameOfRecording& name);
// A recording in a directory.
struct ListedRecording {
  NameOfRecording begin;
  std::string name;
};
// All regular files that are named so, in order of time. Fails if the directory cannot be read.
Result<std::vector<ListedRecording>> list_recordings(const std::string& directory);
// True of a recording that can be read and that nobody writes any more.
bool is_recording_at_rest(const std::string& directory, const std::string& name);

// This host's name, as that of a file: a host may call itself anything.
std::string host_in_file_name();

enum class RecorderKind : uint8_t { kRotating, kFlight };

class RecordingDirectory {
public:
  // Makes it if it is not there. It has to be ours, and nobody else's to write to: mode 0700, or
  // 0750 of the group gosym if there is such a group.
  static Result<RecordingDirectory> open(const std::string& path);

  // The lock lasts as long as this process. Fails, with the number of the process, if another
  // one has it.
  Result<> lock(RecorderKind kind);

  const std::string& path() const { return path_; }
  const UniqueFd& fd() const { return fd_; }

private:
  RecordingDirectory(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
  UniqueFd lock_;
};

// The process that records into a directory.
struct RecorderOfDirectory {
  pid_t pid = 0;  // 0: it has no number here, being of another pid namespace
  RecorderKind kind{};
};
// None: nobody does.
Result<std::optional<RecorderOfDirectory>> recorder_of(const std::string& directory);

// Makes, names and removes what is in such a directory.
//
// Age is counted by a clock that nobody sets, from when a recording was made, or was found: one
// that was there before is as old as its time of change says then.
class DirectoryContents {
public:
  // `directory` is that of a RecordingDirectory, and has to outlive this.
  DirectoryContents(int directory, Retention keep, std::string host);

  struct Draft {
    UniqueFd file;
    std::string name;  // that it is going to have, as far as nobody takes that before
  };
  // A file for a recording that began so long ago. errno says why there is none.
  Draft begin_recording(uint64_t seconds_ago = 0);
  // Gives the draft its name. Empty, with errno: it has none.
  std::string publish();
  void drop_draft();

  // Finds a file that is kept by this build id, and notes that a recording needs it from now on.
  bool find_stored(std::string_view id) const;
  // Begins one that is not kept yet. Either is its end.
  UniqueFd begin_stored(std::string_view id);
  bool finish_stored();
  void drop_stored();

  // Removes what is no longer to be kept, and files that no recording needs.
  void remove_old();
  // The disk is full: removes the oldest recordings, so many bytes at least, if anything is to
  // be removed at all. False: nothing was.
  bool make_room(uint64_t size);

private:
  struct Found {
    std::string name;
    NameOfRecording begin;
    uint64_t size = 0;  // on the disk
    uint64_t inode = 0;
    int64_t born_ns = 0;  // by CLOCK_BOOTTIME
  };
  struct Stored {
    std::string path;  // from the directory
    uint64_t size = 0;
    int64_t used_ns = 0;  // since 1970
  };
  std::vector<Found> recordings();
  std::vector<Stored> stored_files() const;
  int64_t birth_of(uint64_t inode, int64_t changed_ns);
  bool remove(const Found& recording) const;
  uint64_t remove_unneeded(const std::vector<Found>& recordings) const;
  void remove_drafts() const;

  int directory_;
  Retention keep_;
  std::string host_;
  std::string draft_;  // names in the directory; empty: there is none
  std::string name_;
  uint64_t draft_inode_ = 0;
  std::string stored_draft_;
  std::string stored_;
  std::map<uint64_t, int64_t> births_;  // of recordings, by inode
};

}  // namespace gosym
