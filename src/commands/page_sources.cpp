#include "commands/page_sources.h"

#include <fmt/core.h>

#include <map>
#include <set>

#include "base/text.h"
#include "commands/annotate/source_files.h"
#include "symbolize/image_symbols.h"

namespace gosym {

namespace {

// Together: a page is for a browser.
constexpr size_t kMostSourceText = 32 << 20;

// By image, which tells who may have written them.
std::map<uint32_t, std::set<std::string>> sampled_source_files(const Profile& profile) {
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

std::string text_of_source(SourceFiles& sources, const std::string& path, size_t room) {
  std::string text;
  for (uint32_t number = 1; auto line = sources.line(path, number); number++) {
    if (text.size() + line->size() >= room)
      return {};
    text += *line + '\n';
  }
  return text;
}

}  // namespace

PageSources find_page_sources(const Profile& profile, const std::string& directory,
                              const DebugFileOptions& files, const HeldFiles& held) {
  PageSources result;
  std::set<std::string> known;
  size_t room = kMostSourceText;
  for (const auto& [image, paths] : sampled_source_files(profile)) {
    const RecordedImage& of = profile.images[image].file;
    RecordedFile file = open_recorded(of, files, held);
    // The copy in a recording is of nobody that is known.
    bool has_owner = file.symbols && !held.contains(of.id);
    SourceFiles sources(source_places(directory, files.symfs),
                        has_owner ? file.symbols->owner() : std::nullopt);
    for (const std::string& path : paths) {
      std::string text =
          known.contains(path) ? std::string() : text_of_source(sources, path, room);
      if (text.empty())
        continue;
      known.insert(path);
      room -= text.size();
      result.texts.push_back({path, std::move(text)});
    }
    if (std::string note = withheld_note(sources); !note.empty())
      result.warnings.push_back(std::move(note));
    for (const std::string& path : sources.changed_after(of.mtime_ns))
      result.warnings.push_back(fmt::format(
          "'{}' was changed after the program was built: lines may be wrong", printable(path)));
  }
  return result;
}

}  // namespace gosym
