#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <utility>

#include "base/unique_fd.h"
#include "model/recording.h"

namespace gosym {

class FileHelper;

// Finds the perf maps of processes (proc/perf_map.h) and says which to believe.
//
// Once a process is gone nothing tells where its /tmp was, its number in its own pid namespace,
// or whose process it was; so it is looked at as soon as it has code that no file holds, and
// the directory is held, which may be a mount that goes away with it. A process that is gone by
// then is taken for one of ours with our /tmp: -- CMD is the case.
//
// Everybody may write to /tmp. A map counts only if it is a regular file, no link, belongs to
// the user of the process, and was written since the process began: not by an earlier one of
// the same number. That of root counts as well, for a process that has given up root, where
// nobody but root can have put it there: who has a user namespace of his own can mount any file
// of root there in mount namespaces that belong to that. Only lines that are a map's are taken.
class PerfMaps {
public:
  // With a helper, which must outlive this, directories are found by that.
  explicit PerfMaps(FileHelper* helper = nullptr) : helper_(helper) {}

  // The file that a process would write its map to. Valid as long as the PerfMaps that found
  // it.
  struct Place {
    const UniqueFd* directory;  // its /tmp; null: it was gone, or there are too many
    uint32_t own_pid;
    uint32_t user;
    int64_t since_ns;              // the program runs, as times of files tell it
    bool has_code;                 // the process executes memory that no file holds
    bool has_root_mounts = false;  // nobody but root can mount what it sees

    // The growth of its map, as far as it was watched.
    std::vector<PerfMapMark> marks = {};
    uint64_t inode = 0;
    uint64_t watched_at = 0;
  };

  // The process has had code that no file holds since `time`, of CLOCK_MONOTONIC. It is looked
  // at if its place is not known.
  void notice(std::optional<Place>& place, uint32_t pid, uint64_t time);

  // It has run another program since `time`, to which no earlier map belongs.
  static void renew(Place& place, uint64_t time);

  // Notes how long its map is, if that can be told at once. To tell what was written when, it
  // is to be done often while code is made.
  static void watch(Place& place);

  // All maps together may be as large as those of a recording once more.
  void begin_part() { bytes_left_ = kMaxTotal; }

  // Its map as it is at `time`; none if there is none.
  std::optional<RecordedPerfMap> read(const Place& place, uint32_t pid, uint64_t time);
  // The map of a program that the process left at `time`; none if it was written to since.
  std::optional<RecordedPerfMap> read_left(const Place& place, uint32_t pid, uint64_t time);

private:
  // A reader takes 4 GiB of such things; the text is in memory here one map at a time.
  static constexpr uint64_t kMaxTotal = uint64_t{1} << 30;

  Place look_at(uint32_t pid, uint64_t time);
  const UniqueFd* keep_directory_of(uint32_t pid);
  UniqueFd find_map(const Place& place, uint32_t pid) const;
  std::optional<RecordedPerfMap> read_found(const Place& place, const UniqueFd& found,
                                            uint32_t pid, uint64_t time);
  UniqueFd find_directory_of(uint32_t pid) const;
  void read_text(const UniqueFd& found, uint64_t size, RecordedPerfMap& map) const;

  FileHelper* helper_;
  std::map<std::pair<dev_t, ino_t>, UniqueFd> directories_;
  uint64_t bytes_left_ = kMaxTotal;
};

}  // namespace gosym
