#include "commands/page_sources.h"

#include <fmt/core.h>

#include <map>
#include <set>

#include "commands/annotate/source_files.h"

namespace gosym {

namespace {

// Together: a page is for a browser.
constexpr size_t kMostSourceText = 32 << 20;

// By image, which tells who may have written them.
std::map<uint32_t, std::set<std::string>> sampled_source_files(const Profile& profile) {
  // Only locations that samples have: a selection may have left out the others.
  std::vector<bool> is_used(profile.locations.size());
  for (const SampleCount& sample : profile.samples)
    for (LocationId id : profile.stack(sample.stack))
      is_used[to_index(id)] = true;
  std::map<uint32_t, std::set<std::string>> paths;
  for (size_t i = 0; i < is_used.size(); i++) {
    if (!is_used[i])
      continue;
    const Location& location = profile.locations[i];
    for (const Frame& frame : profile.frames_of(location)) {
      const Function& function = profile.functions[to_index(frame.function)];
      if (frame.line > 0 && function.file != StringId{})
        paths[profile.mappings[to_index(location.mapping)].image].insert(
            std::string(profile.strings[function.file]));
    }
  }
  return paths;
}

// Empty: there is none that may be shown. line() gives none behind the last line, and at once
// for a file that is missing or withheld.
std::string text_of_source(SourceFiles& sources, const std::string& path) {
  std::string text;
  for (uint32_t number = 1; auto line = sources.line(path, number); number++)
    text += *line + '\n';
  return text;
}

}  // namespace

PageSources find_page_sources(const Profile& profile, const std::string& directory,
                              const DebugFileOptions& files, const HeldFiles& held) {
  PageSources result;
  std::set<std::string> wanted;
  std::set<std::string> known;
  // Files are taken in order as long as they fit; a smaller one may still fit after one that
  // did not.
  size_t room = kMostSourceText;
  size_t left_out = 0;
  for (const auto& [index, paths] : sampled_source_files(profile)) {
    ImageSources image = sources_of(profile.images[index].file, directory, files, held);
    for (const std::string& path : paths) {
      wanted.insert(path);
      // A path that two images name is one file of the page.
      std::string text =
          known.contains(path) ? std::string() : text_of_source(image.sources, path);
      left_out += text.size() > room ? 1 : 0;
      if (text.empty() || text.size() > room)
        continue;
      known.insert(path);
      room -= text.size();
      result.texts.push_back({path, std::move(text)});
    }
    for (std::string& problem : problems_of(image.sources, image.built))
      result.warnings.push_back(std::move(problem));
  }
  result.wanted = wanted.size();
  if (left_out > 0)
    result.warnings.push_back(
        fmt::format("{} source files are not in the page, which holds {} MiB of them", left_out,
                    kMostSourceText >> 20));
  return result;
}

}  // namespace gosym
