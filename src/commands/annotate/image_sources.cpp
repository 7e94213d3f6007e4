#include "commands/annotate/image_sources.h"

#include <fmt/core.h>

#include "base/text.h"

namespace gosym {

ImageSources sources_of(const RecordedImage& image, const std::string& directory,
                        const DebugFileOptions& files, const HeldFiles& held) {
  RecordedFile file = open_recorded(image, files, held);
  bool has_owner = file.symbols && !held.contains(image.id);
  return {SourceFiles(source_places(directory, files.symfs),
                      has_owner ? file.symbols->owner() : std::nullopt),
          image.mtime_ns};
}

std::vector<std::string> problems_of(const SourceFiles& sources, int64_t built) {
  std::vector<std::string> problems;
  if (std::string note = withheld_note(sources); !note.empty())
    problems.push_back(std::move(note));
  for (const std::string& path : sources.changed_after(built))
    problems.push_back(fmt::format(
        "'{}' was changed after the program was built: lines may be wrong", printable(path)));
  return problems;
}

}  // namespace gosym
