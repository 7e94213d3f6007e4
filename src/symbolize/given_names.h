#pragma once

#include "images/debug_file.h"
#include "profile/profile.h"
#include "symbolize/names.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// Gives the names of a profile that was read the form that is asked for, and names the code
// that has none, where its file is found: the one of its path (below --symfs), if it has the
// build id that the profile tells. Code of files without a build id keeps its address, for
// nothing says that a file of that name is the one.
SymbolizerReport name_given(Profile& profile, NameForms forms, const DebugFileOptions& files);

// For a profile that has no addresses: nothing more of its code can be named.
void show_names(Profile& profile, NameForms forms);

}  // namespace gosym
