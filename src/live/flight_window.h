#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "live/piece_store.h"
#include "live/recording_window.h"
#include "record/rotation_files.h"

namespace gosym {

// The last part of a recording, in memory, of which a file of a directory is made when somebody
// wants it. Files that are kept of programs are in the store of the directory from the first
// on.
class FlightWindow : public RecordingWindow {
public:
  // `directory` is its name for messages. The files have to outlive this.
  FlightWindow(RecordingInfo info, uint64_t span, std::string directory, RotationFiles& files)
      : RecordingWindow(std::move(info), span),
        span_(span),
        directory_(std::move(directory)),
        files_(files),
        store_(files) {}

  // Makes a file of what there is now, but for what the last one has. Gives its name.
  Result<std::string> take_snapshot();

  uint64_t file_count() const { return file_count_; }

  // The recorder calls these; `time` is that of the end, of CLOCK_MONOTONIC.
  Result<> write_image(const RecordedImage& image) override;
  Result<> write_piece(const ImagePiece& piece) override;
  Result<> write_end(uint64_t time) override;
  uint64_t bytes_written() const override { return bytes_written_; }

private:
  const uint64_t span_;
  const std::string directory_;
  RotationFiles& files_;
  PieceStore store_;
  std::map<ImageId, RecordedImage> known_;
  uint64_t written_until_ = 0;  // by the last file
  uint64_t file_count_ = 0;
  uint64_t bytes_written_ = 0;
};

}  // namespace gosym
