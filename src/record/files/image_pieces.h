#pragma once

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/recording.h"
#include "record/files/archived_parts.h"

namespace gosym {

// Gives what is kept of a file, piece by piece. It reads what it gives and the headers, and not
// by a mapping: files of others may be cut short at any time.
class ImagePieces {
public:
  // `file` is that of the image, open for reading. Fails if it is no ELF file or too large.
  // With data left out also if nothing tells these from the rest.
  static Result<ImagePieces> open(ImageId image, UniqueFd file,
                                  ArchivedData data = ArchivedData::kKept);

  uint64_t size() const { return parts_.size; }

  // None after the last one.
  std::optional<Result<ImagePiece>> next();

private:
  ImagePieces(ImageId image, UniqueFd file, ByteOrder order, ArchivedParts parts)
      : image_(image), file_(std::move(file)), order_(order), parts_(std::move(parts)) {}
  void hide_sections(ImagePiece& piece) const;

  ImageId image_;
  UniqueFd file_;
  ByteOrder order_;
  ArchivedParts parts_;
  size_t extent_ = 0;   // the one that the next piece is of
  uint64_t taken_ = 0;  // of that
};

}  // namespace gosym
