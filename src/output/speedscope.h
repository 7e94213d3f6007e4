#pragma once

#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

// The file that speedscope opens, of its format "sampled", which is frozen
// (https://www.speedscope.app/file-format-schema.json):
//
//   {"$schema", "exporter", "name", "activeProfileIndex": 0,
//    "shared": {"frames": [{"name", "file"?, "line"?}]},
//    "profiles": [{"type": "sampled", "name", "unit", "startValue": 0, "endValue",
//                  "samples": [[index of a frame, outermost first]], "weights": [number]}]}
//
// A profile is a thread, or one of its events; its samples are in order of time. A frame is a
// function. Only what is written next is in memory.
void write_speedscope(const Profile& profile, const Write& write);

}  // namespace gosym
