#include "symbolize/make_profile.h"

#include <map>

#include "raw/archived_files.h"
#include "raw/replay_recording.h"
#include "symbolize/symbol_cache.h"
#include "symbolize/unwind.h"

namespace gosym {

namespace {

// Those that have samples. Damaged pieces are counted with the other chunks.
raw::ArchivedFiles open_archived_files(raw::Recording& recording, Profile& profile) {
  std::map<ImageId, const RecordedImage*> wanted;
  for (const ProfileImage& image : profile.images)
    if (image.kind == ProfileImage::Kind::kFile)
      wanted[image.file.id] = &image.file;
  raw::ArchivedFiles files =
      raw::open_archived_files(recording.piece_chunks, wanted, profile.memory_limit);
  profile.memory_limit -= files.size;
  recording.damaged_chunks += files.damaged_chunks;
  recording.piece_chunks.clear();
  return files;
}

template <class Thing>
std::map<ImageId, Thing> renumbered(std::map<ImageId, Thing> things,
                                    const std::map<ImageId, ImageId>& numbers) {
  std::map<ImageId, Thing> result;
  for (auto& [id, thing] : things)
    if (auto number = numbers.find(id); number != numbers.end())
      result.emplace(number->second, std::move(thing));
  return result;
}

// The recording's own numbers of its images become those of all recordings.
void renumber_images(ImageNumbers& numbers, Profile& profile, raw::ArchivedFiles& archived) {
  std::map<ImageId, ImageId> changed;
  for (ProfileImage& image : profile.images)
    if (image.kind == ProfileImage::Kind::kFile) {
      ImageId number = numbers.of(image.file);
      changed[image.file.id] = number;
      image.file.id = number;
    }
  archived.files = renumbered(std::move(archived.files), changed);
  archived.problems = renumbered(std::move(archived.problems), changed);
}

}  // namespace

Result<NamedProfile> make_profile(raw::Recording& recording, const Filter& filter,
                                  GroupBy group_by, NameForms names,
                                  const DebugFileOptions& files, SymbolCache* cache) {
  SymbolCache own;
  SymbolCache& kept = cache ? *cache : own;
  kept.begin_profile();
  // Addresses of processes become addresses in files, by what was mapped at that moment; equal
  // samples are counted.
  auto replayed = replay(recording, filter, group_by);
  if (!replayed)
    return std::move(replayed).error();
  Profile profile = std::move(replayed->profile);
  raw::ArchivedFiles archived = open_archived_files(recording, profile);
  if (kept.numbers)
    renumber_images(*kept.numbers, profile, archived);
  kept.held.merge(archived.files);
  kept.file_problems.merge(archived.problems);

  // Callers that frame pointers leave out are found in the dumps of the stacks. It comes before
  // the naming, for it brings new addresses, and needs the unwind tables of the same files.
  if (!unwind(profile, replayed->dumps, recording.vdso, files, kept.held, cache))
    return raw::out_of_budget(recording);
  replayed->dumps = {};

  // Each distinct address is named once, file after file.
  RecordedSymbols recorded{.kernel = recording.kernel_symbols,
                           .vdso = recording.vdso,
                           .perf_maps = recording.perf_maps,
                           .files = std::move(kept.held),
                           .file_problems = std::move(kept.file_problems)};
  SymbolizerReport symbols = symbolize(profile, recorded, names, files, cache);
  kept.held = std::move(recorded.files);
  kept.file_problems = std::move(recorded.file_problems);
  return NamedProfile{std::move(profile), std::move(symbols), std::move(own.held)};
}

}  // namespace gosym
