#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "browser/answer.h"
#include "browser/state.h"

namespace gosym::browser {

// The source of the samples. `load` is called in a thread of its own, and `find_code` in
// another while `load` may be running.
struct Source {
  using Events = std::vector<std::shared_ptr<const Profile>>;  // as by_event() makes them

  struct Loaded {
    Events events;
    bool is_last = true;
    double share = 1;  // of what there is to read that this is of
  };

  // Loads the profiles to show now. It is called again until it was the last: for a live source
  // at each interval, for another that has given a part at once.
  std::function<Result<Loaded>()> load;
  uint64_t interval = 0;  // nanoseconds from one to the next; 0: this is no live source
  FindCode find_code = {};
  // Live sources only. `reset` forgets the samples so far; `save` writes what is kept to a file
  // and returns its name. Both are called by another thread, while load() may be running.
  std::function<void()> reset = {};
  std::function<Result<std::string>()> save = {};

  bool is_live() const { return interval != 0; }
};

// Has an editor open a file at a line, and waits until it ends: the terminal is the editor's.
using Edit = std::function<Result<>(const std::string& path, uint32_t line)>;

// Writes a profile to a file in a format, and tells its name.
using Export =
    std::function<Result<std::string>(const Profile& profile, const std::string& format)>;

// Shows the source on the terminal until the user has enough. Gives the exit status. What is
// written to standard error meanwhile is shown afterwards.
Result<int> browse(Source source, const Export& write, const Edit& edit, State state,
                   bool has_colour = true);

}  // namespace gosym::browser
