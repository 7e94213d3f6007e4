#pragma once

#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace gosym {

// Reads a profile.proto (github.com/google/pprof, proto/profile.proto), compressed by gzip or
// not, as Go's runtime, `go tool pprof -proto` and write_pprof() write it.
//
//   event      one, with the sample types as its values, in their units (times become
//              nanoseconds). The default type, or else the last, comes first. Of two,
//              "samples/count" is no value: it tells how many samples the other's amounts are
//              of. In profiles of gosym of a clock, samples count ticks, as those of the
//              recording do; in those of several events, where no sample has two values, each
//              type is an event again
//   functions  named as they are in the file. "[stripped libc.so.6]" and the like stand for
//              code without a name
//   locations  those without lines have their address in their mapping, for whoever finds the
//              file (identify_images(), symbolize())
//   kernel     the mapping whose file's name begins with "[kernel" or "[guest.kernel"
//   labels     thread, pid, tid, goid and cgroup, as write_pprof() writes them, are whose the
//              samples are; all others are labels, numbers of them as text
//
// Not read: drop_frames and keep_frames, the units of labels, doc_url. An error: what does not
// decode, numbers that refer to nothing, as `go tool pprof` has it, and negative values, which
// a difference of profiles has. Takes no more than about `memory_budget` bytes.
Result<Profile> read_pprof(std::string_view file, uint64_t memory_budget);

}  // namespace gosym
