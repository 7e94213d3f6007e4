#pragma once

#include <string>
#include <utility>
#include <vector>

#include "images/recorded_binary.h"
#include "output/amounts.h"
#include "output/view_options.h"
#include "profile/profile.h"

namespace gosym {

// The source lines of functions of a profile, with what each has, as `gosym report --lines`
// shows them: no code is read, so that all calls of a function are there, whoever has inlined
// it.
class FunctionLines {
public:
  // Source files are looked for below the directory first, unless that is empty. The others
  // must live longer than this.
  FunctionLines(std::string directory, const DebugFileOptions& files, const HeldFiles& held)
      : directory_(std::move(directory)), files_(files), held_(held) {}

  // The lines of the functions that ViewOptions::function matches, in the order of their
  // source.
  std::string text(const Profile& profile, const ViewOptions& options, const Amounts& amounts);

  // A sentence on each file that is not shown, or not as it was.
  const std::vector<std::string>& notes() const { return notes_; }

private:
  std::string directory_;
  const DebugFileOptions& files_;
  const HeldFiles& held_;
  std::vector<std::string> notes_;
};

}  // namespace gosym
