#pragma once

#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

// A page for a browser (page/html.h), with what the text report says of the recording and of
// what is missing.
void write_html(const Profile& profile, const Write& write);

}  // namespace gosym
