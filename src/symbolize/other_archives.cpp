#include "symbolize/other_archives.h"

namespace gosym {

namespace {

// A file may have been deleted between two recordings of it.
ImageId number_of(RecordedImage image, bool is_deleted, ImageNumbers& numbers) {
  image.is_deleted = is_deleted;
  return numbers.of(image);
}

}  // namespace

void OtherArchives::add(const raw::Recording& recording) {
  if (!recording.piece_chunks.empty())
    archives_.push_back({recording.images, raw::ArchivedPieces(recording.piece_chunks)});
}

raw::ArchivedFiles OtherArchives::open(const std::map<ImageId, const RecordedImage*>& wanted,
                                       ImageNumbers& numbers, uint64_t room) {
  raw::ArchivedFiles found;
  for (Archive& archive : archives_) {
    std::map<ImageId, const RecordedImage*> inside;
    // Each archive has its own numbers of images: files are wanted, and returned, by those of
    // ImageNumbers.
    std::map<ImageId, ImageId> wanted_as;
    for (const RecordedImage& image : archive.images)
      for (bool is_deleted : {false, true})
        if (ImageId number = number_of(image, is_deleted, numbers);
            wanted.contains(number) && !found.files.contains(number)) {
          inside[image.id] = &image;
          wanted_as[image.id] = number;
        }
    if (inside.empty())
      continue;
    // The budget is for all archives together.
    raw::ArchivedFiles opened = archive.pieces.open(inside, room - found.size);
    found.size += opened.size;
    for (auto& [id, file] : opened.files)
      found.files.emplace(wanted_as.at(id), std::move(file));
  }
  return found;
}

}  // namespace gosym
