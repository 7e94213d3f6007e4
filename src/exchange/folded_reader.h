#pragma once

#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace gosym {

// Reads the text that flamegraph.pl and its like read, and write_folded() and others write.
//
//   line = frame (";" frame)* " " count      outermost frame first
//
// Empty lines are nothing, and so are those that begin with "# ", in which Austin tells how it
// sampled.
//
// A frame that ends in "_[k]" is the kernel's; one in "_[i]" was inlined into the frame before
// it; "_[j]" and "_[w]" are left out. Many tools begin a line with the thread's name. Nothing
// tells it from a function, so that it is taken for one, and samples are of no thread. What a
// count counts is not told either: they are taken for samples.
//
// An error names the line. It takes no more than about `memory_budget` bytes.
Result<Profile> read_folded(std::string_view text, uint64_t memory_budget);

// "12", "12.5", "-3", "1e-05": also those that are no counts, of which the reader says what is
// wrong.
bool looks_like_number(std::string_view text);

// True if a line, without its end, is empty or a comment.
bool is_no_stack(std::string_view line);

}  // namespace gosym
