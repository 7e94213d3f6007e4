#pragma once

#include <string>

#include "output/amounts.h"
#include "output/screen.h"
#include "profile/profile.h"

namespace gosym {

inline constexpr size_t kMaxProcessesShown = 5;  // and containers, unless all are to be shown

// What was recorded, in four lines at the most.
std::string make_header(const Profile& profile, const Amounts& amounts, size_t max_processes,
                        const Screen& screen);

// Its first line: "979 samples of cpu-clock at 99 Hz: 9.89 s of CPU time in 10.00 s, 0.99 of
// 4 CPUs".
// Where that is wider than `width`, without the event if it is a clock.
std::string make_headline(const Profile& profile, const Amounts& amounts,
                          size_t width = SIZE_MAX);

// What makes the figures less than the whole truth: losses, stacks that are truncated, few
// samples, code without names. Empty if there is nothing to say. With all that there is to tell
// if it is to be verbose: `top` rows of code without names, 0 for all.
std::string make_notes(const Profile& profile, bool is_verbose, size_t top,
                       const Screen& screen);

}  // namespace gosym
