#pragma once

#include <span>

#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

// A profile.proto as `go tool pprof`, Go's PGO and profile stores read it, compressed by gzip.
// Equal profiles give equal bytes.
//
//   values     samples/count, cpu/nanoseconds; of several events, or of events with several
//              values, one of each, in the order of the file that they were read from
//   mappings   the main program's first; build_id is the GNU one, else Go's. One without any
//              name has no lines and no has_* flag, so that whoever reads it may add names
//   locations  the address is the call's: one less than a return address. Lines are innermost
//              first; where there is no name in a mapping with names, or no mapping at all, the
//              one line's function tells why
//   functions  name and system_name are both the linker's
//   labels     thread (its name), pid, tid
//   comments   gosym's version, the command that recorded, the filter, what was lost
void write_pprof(const Profile& profile, const Write& write);
// Some of the samples, with the locations and functions that they have, for a store of profiles
// (services.h).
void write_pprof_for_store(const Profile& profile, std::span<const SampleCount> samples,
                           const Write& write);

// Writes the profile that `go tool pprof -diff_base` makes of two: the samples of `after`, and
// those of `before` with negative values, multiplied by `scale` so that they compare, and the
// label "pprof::base", by which pprof knows them.
void write_pprof_difference(const Profile& before, const Profile& after, double scale,
                            const Write& write);

// The first before compression.
void encode_pprof(const Profile& profile, const Write& write);

}  // namespace gosym
