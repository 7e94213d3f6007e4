#pragma once

#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

// The file that profiler.firefox.com opens: a processed profile of version 48, which newer ones
// upgrade when they load it (docs-developer/CHANGELOG-formats.md of firefox-devtools/profiler).
// Tables are columns of equal length:
//
//   {"meta": {...}, "libs": [...], "threads": [{"name", "pid", "tid", ...,
//      "samples": {"stack", "time" (ms), "weight", "weightType"},
//      "stackTable": {"prefix" (null: a root), "frame", "category"},
//      "frameTable": {"func", "line", "inlineDepth", "category", ...},
//      "funcTable": {"name", "resource", "fileName", "lineNumber", ...},
//      "resourceTable": {"lib", "name", ...}, "stringArray": [...],
//      "markers": {...}}]}
//
// A thread is one of the profile, or one of its events; each has tables of its own, of what its
// samples need. Weights are milliseconds, or events. What was lost is told by markers of the
// first thread. Only the tables of one thread are in memory.
void write_firefox(const Profile& profile, const Write& write);

}  // namespace gosym
