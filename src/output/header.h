#pragma once

#include <string>

#include "output/amounts.h"
#include "output/screen.h"
#include "profile/profile.h"

namespace gosym {

inline constexpr size_t kMaxProcessesShown = 5;  // and containers, unless all are to be shown

// The command, host, time and events that were recorded, in four lines at the most.
std::string make_header(const Profile& profile, const Amounts& amounts, size_t max_processes,
                        const Screen& screen);

// The first line of make_header(): "979 samples of cpu-clock at 99 Hz: 9.89 s of CPU time in
// 10.00 s, 0.99 of 4 CPUs". A clock's name is left out if the line would be wider than `width`.
std::string make_headline(const Profile& profile, const Amounts& amounts,
                          size_t width = SIZE_MAX);

// Everything that makes the figures less than the whole truth: losses, truncated stacks, few
// samples, code without names. Empty if there is nothing to say. `is_verbose` adds details:
// `top` rows of code without names, 0 for all.
std::string make_notes(const Profile& profile, bool is_verbose, size_t top,
                       const Screen& screen);

}  // namespace gosym
