#pragma once

#include <span>
#include <vector>

#include "page/message.h"
#include "page/source_text.h"
#include "profile/profile.h"

namespace gosym::page {

// The page of a profile: all of it but addresses, goroutine ids and CPUs.
Page make_page(const Profile& profile, std::vector<Note> notes,
               std::span<const SourceText> sources = {});

// The parts of a page that compares which one side has alone: its first event, and how many
// recordings it is of.
Side make_side(const Profile& profile);

}  // namespace gosym::page
