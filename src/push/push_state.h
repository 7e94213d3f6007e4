#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "record/recording_directory.h"

namespace gosym {

// The progress of sending a directory of recordings to a server: a file with the name of the last
// recording that needs no sending any more. It outlives whoever sends, so that nothing is left
// out.
class PushState {
public:
  // The file for this directory and server, in the one that a service manager gives a service,
  // or that of the user: $STATE_DIRECTORY, $XDG_STATE_HOME/gosym, ~/.local/state/gosym. Empty:
  // there is neither.
  static std::string default_path(const std::string& directory, const std::string& url);

  // Reads the file; one that is not there is that of a directory of which nothing was sent.
  // Makes the folder that it is in.
  static Result<PushState> open(std::string path);

  bool is_done(const NameOfRecording& recording) const { return last_ && recording <= *last_; }
  Result<> set_done(const std::string& name);

private:
  explicit PushState(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::optional<NameOfRecording> last_;
};

}  // namespace gosym
