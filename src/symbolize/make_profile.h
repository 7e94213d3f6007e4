#pragma once

#include "images/image_cache.h"
#include "profile/filter.h"
#include "profile/replay.h"
#include "raw/reader.h"
#include "symbolize/other_archives.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// A profile with names, and what was met on the way.
struct NamedProfile {
  Profile profile;
  SymbolizerReport symbols;
  HeldFiles held;  // files that the recording has kept
};

// Replays the samples that the filter keeps, and looks for the callers that their stacks lack.
// The profile has all images that were asked for them.
//
// A file that this recording has not kept is taken from the others, if there are any.
//
// The recording's images, events and pieces are used up, and damaged chunks of it are counted.
Result<Profile> profile_with_callers(raw::Recording& recording, const Filter& filter,
                                     GroupBy group_by, const DebugFileOptions& files,
                                     ImageCache& cache, OtherArchives* others = nullptr);

// Does that, and names them. No sample is no error: it is the caller's to say what that means.
//
// With a cache what was opened for a profile is there for the next; of files that are held
// there the recording needs no pieces, and `held` of the result is empty.
Result<NamedProfile> make_profile(raw::Recording& recording, const Filter& filter,
                                  GroupBy group_by, NameForms names,
                                  const DebugFileOptions& files, SymbolCache* cache = nullptr);

}  // namespace gosym
