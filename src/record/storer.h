#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/recording_directory.h"
#include "record/rotation_files.h"

namespace gosym {

// Makes, names and removes files of a directory of recordings. Whoever takes samples reads what
// strangers wrote, and may make and remove nothing by then: another process does it, which is
// told the directory before, reads nothing but its requests, and chooses all names itself.
class Storer : public RotationFiles {
public:
  // Starts the process. Fails if there can be no more.
  Result<> start(const RecordingDirectory& directory, Retention keep);

  UniqueFd begin_recording(uint64_t seconds_ago) override;
  // Recordings that are too old are removed then, while this one goes on.
  std::string publish() override;
  void drop() override;
  bool find_stored(std::string_view id) override;
  UniqueFd begin_stored(std::string_view id) override;
  bool finish_stored(bool is_whole) override;
  bool make_room(uint64_t size) override;

private:
  enum class Task : uint32_t {
    kBegin,
    kPublish,
    kDrop,
    kFindStored,
    kBeginStored,
    kFinishStored,
    kDropStored,
    kMakeRoom
  };
  struct Request;
  struct Reply;

  UniqueFd ask(Request& request, Reply& reply);
  static void serve(int channel, int directory, Retention keep, const std::string& host);
  static UniqueFd perform(const Request& request, DirectoryContents& contents, Reply& reply);

  UniqueFd channel_;
};

}  // namespace gosym
