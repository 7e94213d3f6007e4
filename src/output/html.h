#pragma once

#include <span>

#include "output/write.h"
#include "page/source_text.h"
#include "profile/profile.h"
#include "view/difference.h"

namespace gosym {

// A page for a browser (page/html.h), with what the text report says of the recording and of
// what is missing.
void write_html(const Profile& profile, const Write& write);
// With these source files.
void write_html_with(std::span<const SourceText> sources, const Profile& profile,
                     const Write& write);

// A page that compares two profiles of one event: with the stacks of both, colours for what
// changed, and the verdicts of `difference`, which was made of them.
void write_html_difference(const Difference& difference, const ComparedProfile& before,
                           const ComparedProfile& after, const Write& write);

}  // namespace gosym
