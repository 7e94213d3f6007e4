#pragma once

#include <map>
#include <vector>

#include "images/image_cache.h"
#include "raw/archived_files.h"

namespace gosym {

// The files that each of several recordings keeps, for the others of them: a program may have
// been archived once, and recorded many times.
class OtherArchives {
public:
  // Before the recording's own profile is made, which uses its images and pieces up.
  void add(const raw::Recording& recording);

  // Files that equal those wanted, whose numbers are those of all recordings. One that no
  // recording has whole is left out.
  raw::ArchivedFiles open(const std::map<ImageId, const RecordedImage*>& wanted,
                          ImageNumbers& numbers, uint64_t room);

private:
  struct Archive {
    std::vector<RecordedImage> images;  // with the recording's own numbers
    raw::ArchivedPieces pieces;
  };
  std::vector<Archive> archives_;
};

}  // namespace gosym
