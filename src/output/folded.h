#pragma once

#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

// The text that flamegraph.pl and its like read: one line for each distinct stack, sorted.
//
//   line = comm (";" frame)* " " count     outermost frame first
//
// Inlined calls are frames of their own; kernel frames end in "_[k]". Readers split at ";" and
// at the last space, so that names may have spaces; in them ";" becomes ":". The last bracket
// of a name that itself ends in such a mark ("_[k]", "_[i]", "_[j]", "_[w]") becomes "\x5d".
//
// A line takes memory only while it is written.
void write_folded(const Profile& profile, const Write& write);

// The text that difffolded.pl writes and flamegraph.pl draws in red and blue: lines as above of
// the stacks of two profiles, with what each has.
//
//   line = comm (";" frame)* " " before " " after
//
// The amounts before are multiplied by `scale`, so that they compare.
void write_folded_difference(const Profile& before, const Profile& after, double scale,
                             const Write& write);

}  // namespace gosym
