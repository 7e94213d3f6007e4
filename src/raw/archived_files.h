#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "model/recording.h"
#include "raw/reader.h"

namespace gosym::raw {

// Files that a recording has kept, put together from their pieces again.
struct ArchivedFiles {
  std::map<ImageId, UniqueFd>
      files;  // in memory, as long as the image says, sealed against writing
  std::map<ImageId, std::string> problems;  // why a file, or some of it, was not kept
  uint64_t damaged_chunks = 0;              // whose payload does not decode
  uint64_t size = 0;                        // of all files, zeros included
};

// A file of which a piece is missing counts as not kept: where nothing is known zeros would
// tell lies. Files take the memory of their pieces, and more for what is read between them;
// those that together are larger than `room` count as not kept either.
class ArchivedPieces {
public:
  explicit ArchivedPieces(std::vector<Recording::StoredChunk> chunks)
      : chunks_(std::move(chunks)) {}

  // From the second call on only pieces of the wanted files are read, and no damage is counted.
  ArchivedFiles open(const std::map<ImageId, const RecordedImage*>& wanted, uint64_t room);

private:
  std::vector<Recording::StoredChunk> chunks_;
  std::vector<std::optional<ImageId>> images_;  // of each; none: it is damaged
};

ArchivedFiles open_archived_files(std::span<const Recording::StoredChunk> pieces,
                                  const std::map<ImageId, const RecordedImage*>& wanted,
                                  uint64_t room);

}  // namespace gosym::raw
