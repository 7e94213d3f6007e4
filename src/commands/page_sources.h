#pragma once

#include <string>
#include <vector>

#include "output/view_options.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

namespace gosym {

struct PageSources {
  std::vector<SourceText> texts;
  size_t wanted = 0;  // files whose lines have samples
  std::vector<std::string> warnings;
};

// The source files whose lines the stacks of a profile have, as far as gosym annotate would
// show them. They are looked for below the directory first; empty: it is not asked for.
PageSources find_page_sources(const Profile& profile, const std::string& directory,
                              const DebugFileOptions& files, const HeldFiles& held);

}  // namespace gosym
