#include "commands/debug_packages.h"

#include "proc/packages.h"

namespace gosym {

void find_debug_packages(Profile& profile, const HeldFiles& held) {
  std::set<uint32_t> stripped;
  for (const Location& location : profile.locations)
    if (location.unnamed == Unnamed::kStripped && !profile.is_named(location))
      stripped.insert(profile.mappings[to_index(location.mapping)].image);
  std::set<std::string> paths;
  for (uint32_t image : stripped)
    if (const RecordedImage& file = profile.images[image].file; !held.contains(file.id))
      paths.insert(file.path);
  auto owners = paths.empty() ? std::map<std::string, std::string>() : proc::owners_of(paths);
  for (uint32_t image : stripped)
    if (auto owner = owners.find(profile.images[image].file.path); owner != owners.end())
      profile.images[image].debug_package = proc::debug_package_of(owner->second);
}

}  // namespace gosym
