#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

// The recordings of a directory that need no sending to a server any more: a file with a name a
// line, to which one is added when it was sent. It outlives whoever sends, so that nothing is
// left out. A clock that is set back gives recordings names that come before those that were
// sent, so that it has all names and not the last one.
class PushState {
public:
  // The file for this directory and server, in the one that a service manager gives a service,
  // or that of the user: $STATE_DIRECTORY, $XDG_STATE_HOME/gosym, ~/.local/state/gosym. Empty:
  // there is neither.
  static std::string default_path(const std::string& directory, const std::string& url);

  // Makes the file, and the folder that it is in, if they are not there. Fails if another
  // process has it open, which sends the same.
  static Result<PushState> open(const std::string& path);

  bool is_done(const std::string& name) const { return done_.contains(name); }
  Result<> set_done(const std::string& name);

  // Forgets the names of recordings that are not there any more, once they are many.
  Result<> keep_only(const std::set<std::string>& names);

private:
  PushState(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  Result<> rewrite();
  Error error() const;

  std::string path_;
  UniqueFd file_;
  std::set<std::string> done_;
};

}  // namespace gosym
