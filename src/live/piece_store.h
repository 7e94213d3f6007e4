#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/recording.h"
#include "record/rotation_files.h"

namespace gosym {

// Puts the files that a recorder keeps, piece by piece, into the store of a directory: once, by
// their build ids.
class PieceStore {
public:
  // The files have to outlive this.
  explicit PieceStore(RotationFiles& files) : files_(files) {}

  // Takes a piece of an image. False: it belongs into the recording, as it tells why there is no
  // file, or as the file has no build id to be found by.
  bool take(const ImagePiece& piece, const RecordedImage& image);

  // A recording that begins now, or is written, needs the file of this image, if it is there.
  void use(const RecordedImage& image);
  // Likewise all that have been put there or found.
  void use_all();

  // Drops the file that was begun: it will not be finished.
  void finish();

private:
  struct Begun {
    ImageId image{};
    UniqueFd file;
    uint64_t left = 0;
  };
  void begin(const ImagePiece& piece, const RecordedImage& image, const std::string& id);

  RotationFiles& files_;
  std::map<ImageId, std::string> stored_;  // ids of those that are there
  std::optional<Begun> begun_;
};

}  // namespace gosym
