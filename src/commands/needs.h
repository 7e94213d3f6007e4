#pragma once

#include <string>
#include <vector>

#include "commands/report_options.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// A file that was sampled and whose code has no names, or not all of it.
struct NeededFile {
  RecordedImage file;
  Unnamed reason{};          // why
  uint64_t samples = 0;      // with code of it that has no name
  std::string package = {};  // that it is of; empty, as `version`: not known
  std::string version = {};
};

// The files with the most samples first. Packages are known of files that are here, by what
// these say of themselves, or else by dpkg.
std::vector<NeededFile> find_needed(const Profile& profile, const DebugFileOptions& where,
                                    const HeldFiles& held);

// The list of them in one of the forms that has_needs() is true for; and the files that have
// their names from debug files that lie apart, which no archive keeps.
bool has_needs(std::string_view format);
std::string make_needs(const std::vector<NeededFile>& files, const Profile& profile,
                       const SymbolizerReport& symbols, std::string_view format,
                       const Screen& screen);

}  // namespace gosym
