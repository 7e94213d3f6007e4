#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "browser/answer.h"
#include "browser/state.h"

namespace gosym::browser {

// What the browser is of. It is called in a thread of its own.
struct Source {
  using Events = std::vector<std::shared_ptr<const Profile>>;  // as by_event() makes them

  // Blocks until there is something to show; of a live source each time anew, for as long as an
  // interval takes.
  std::function<Result<Events>()> load;
  bool is_live = false;
  FindCode find_code = {};
  // Makes load() return soon, at the end. If there is none, the thread may be left behind.
  std::function<void()> stop = {};
  // Of a live source: forget what was sampled; write what is kept to a file, whose name is
  // told.
  std::function<void()> reset = {};
  std::function<Result<std::string>()> save = {};
};

// Writes a profile to a file in a format, and tells its name.
using Export =
    std::function<Result<std::string>(const Profile& profile, const std::string& format)>;

// Shows the source on the terminal until the user has enough. Gives the exit status. What is
// written to standard error meanwhile is shown afterwards.
Result<int> browse(Source source, const Export& write, State state);

}  // namespace gosym::browser
