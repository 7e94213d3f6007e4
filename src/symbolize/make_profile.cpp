#include "symbolize/make_profile.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_tree.h"
#include "elf/image.h"
#include "images/debug_file.h"
#include "raw/archived_files.h"
#include "raw/replay_recording.h"
#include "symbolize/symbol_cache.h"
#include "unwind/unwind.h"

namespace gosym {

namespace {

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
void renumber_images(ImageNumbers& numbers, std::span<ProfileImage> images,
                     raw::ArchivedFiles& archived) {
  std::map<ImageId, ImageId> changed;
  for (ProfileImage& image : images)
    if (image.kind == ProfileImage::Kind::kFile) {
      ImageId number = numbers.of(image.file);
      changed[image.file.id] = number;
      image.file.id = number;
    }
  archived.files = renumbered(std::move(archived.files), changed);
  archived.problems = renumbered(std::move(archived.problems), changed);
}

// A file that was kept of one of several copies of a build is that of all.
void take_copies(std::span<const ProfileImage> images, raw::ArchivedFiles& archived) {
  for (const ProfileImage& image : images)
    for (ImageId copy : image.copies) {
      archived.problems.erase(copy);
      auto kept = archived.files.extract(copy);
      if (kept.empty() || archived.files.contains(image.file.id))
        continue;
      kept.key() = image.file.id;
      archived.files.insert(std::move(kept));
      archived.problems.erase(image.file.id);
    }
}

// Files that the recording has kept, of images that have samples.
class KeptFiles {
public:
  // `others`, which may be null, are asked for what it lacks, and before them the stores.
  KeptFiles(raw::Recording& recording, const std::vector<std::string>& stores, ImageCache& kept,
            OtherArchives* others)
      : recording_(recording),
        stores_(stores),
        kept_(kept),
        others_(others),
        pieces_(recording.piece_chunks) {}

  // Sets the memory for the files and the rest of the profile, in bytes. Returns what the open
  // files leave.
  uint64_t set_memory(uint64_t memory) { return left_ = memory - std::min(memory, size_); }

  // Opens those of the images that have come since the last call. Gives the memory that is
  // left.
  uint64_t open(Profile& profile) {
    std::span<ProfileImage> images = std::span(profile.images).subspan(opened_);
    // Only files of images that samples are in are put together from their pieces.
    std::map<ImageId, const RecordedImage*> wanted;
    for (const ProfileImage& image : images)
      if (image.kind == ProfileImage::Kind::kFile) {
        wanted[image.file.id] = &image.file;
        for (ImageId copy : image.copies)
          wanted[copy] = &image.file;
      }
    opened_ = profile.images.size();
    if (wanted.empty())
      return left_;
    raw::ArchivedFiles files = pieces_.open(wanted, left_);
    take_copies(images, files);
    // Before the files are merged: `held` goes by the numbers of all recordings, if there are
    // several.
    if (kept_.numbers)
      renumber_images(*kept_.numbers, images, files);
    left_ -= files.size;
    size_ += files.size;
    recording_.damaged_chunks += files.damaged_chunks;
    kept_.held.merge(files.files);
    kept_.file_problems.merge(files.problems);
    open_from_stores(images);
    // Other recordings of a report may keep what this one lacks, by build id.
    if (others_ && kept_.numbers)
      open_from_others(images);
    return left_;
  }

private:
  void open_from_stores(std::span<const ProfileImage> images) {
    if (stores_.empty())
      return;
    for (const ProfileImage& image : images) {
      if (image.kind != ProfileImage::Kind::kFile || kept_.held.contains(image.file.id))
        continue;
      UniqueFd file = open_from_stores(image.file);
      if (!file)
        continue;
      kept_.held.emplace(image.file.id, std::move(file));
      // A file that a store has whole is no problem.
      kept_.file_problems.erase(image.file.id);
    }
  }

  UniqueFd open_from_stores(const RecordedImage& image) const {
    for (const std::string& place : places_in_stores(image, stores_)) {
      UniqueFd found = find_file(place);
      auto file = found ? reopen(found) : Result<UniqueFd>(UniqueFd());
      if (file && *file)
        return *std::move(file);
    }
    return {};
  }

  // Called where there are several recordings: their images have numbers in common.
  void open_from_others(std::span<const ProfileImage> images) {
    std::map<ImageId, const RecordedImage*> lacking;
    for (const ProfileImage& image : images)
      if (image.kind == ProfileImage::Kind::kFile && !kept_.held.contains(image.file.id))
        lacking[image.file.id] = &image.file;
    raw::ArchivedFiles files = others_->open(lacking, *kept_.numbers, left_);
    left_ -= files.size;
    size_ += files.size;
    // A file that another recording has whole is no problem of this one.
    for (const auto& [id, file] : files.files)
      kept_.file_problems.erase(id);
    kept_.held.merge(files.files);
  }

  raw::Recording& recording_;
  const std::vector<std::string>& stores_;
  ImageCache& kept_;
  OtherArchives* others_;
  raw::ArchivedPieces pieces_;
  size_t opened_ = 0;  // images
  uint64_t size_ = 0;
  uint64_t left_ = 0;
};

}  // namespace

Result<Profile> profile_with_callers(raw::Recording& recording, const Filter& filter,
                                     GroupBy group_by, const DebugFileOptions& files,
                                     ImageCache& cache, OtherArchives* others) {
  // Addresses of processes become addresses in files, by what was mapped at that moment; equal
  // samples are counted. Callers that frame pointers leave out are found in the dumps of the
  // stacks. It comes before the naming, for it brings new addresses, and needs the unwind
  // tables of the same files.
  KeptFiles archived(recording, files.stores, cache, others);
  Unwinder unwinder(recording.vdso, files, cache, group_by.has_creators);
  // Called by replay() each time that the stacks so far take much, and once more below.
  // `memory` are the bytes that files and stacks may take; false: they take more.
  auto find_callers = [&](Profile& profile, const StackDumps& dumps, uint64_t memory) {
    return unwinder.walk(profile, dumps, archived.set_memory(memory),
                         [&](Profile& grown) { return archived.open(grown); });
  };
  auto replayed = replay(recording, filter, group_by, find_callers);
  if (!replayed)
    return std::move(replayed).error();
  Profile profile = std::move(replayed->profile);
  // For the stacks that are left since find_callers() was called last.
  if (!find_callers(profile, replayed->dumps, profile.memory_limit))
    return raw::out_of_budget(recording);
  recording.piece_chunks.clear();
  replayed->dumps = {};
  std::move(unwinder).finish(profile);
  return profile;
}

Result<NamedProfile> make_profile(raw::Recording& recording, const Filter& filter,
                                  GroupBy group_by, NameForms names,
                                  const DebugFileOptions& files, SymbolCache* cache) {
  SymbolCache own;
  own.is_for_one = true;
  SymbolCache& kept = cache ? *cache : own;
  kept.begin_profile();
  auto profile = profile_with_callers(recording, filter, group_by, files, kept.images,
                                      kept.archives.get());
  if (!profile)
    return std::move(profile).error();

  // Each distinct address is named once, file after file.
  RecordedSymbols recorded{.kernel = recording.kernel_symbols,
                           .vdso = recording.vdso,
                           .perf_maps = recording.perf_maps};
  SymbolizerReport symbols = symbolize(*profile, recorded, names, files, kept);
  // Files that are kept may have served the walk alone.
  kept.images.forget_pages();
  return NamedProfile{*std::move(profile), std::move(symbols), std::move(own.images.held)};
}

}  // namespace gosym
