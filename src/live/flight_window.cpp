#include "live/flight_window.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "live/rotation.h"
#include "raw/writer.h"

namespace gosym {

Result<std::string> FlightWindow::take_snapshot() {
  constexpr uint64_t kSecond = 1'000'000'000;
  uint64_t last = end();
  // Recordings of one directory add up, so what another one has is not in this.
  uint64_t begin = std::max(last - std::min(last, span_), written_until_);
  // By the wall clock of now, which somebody may have set since the recorder began: names and
  // spans of the directory go by it.
  raw::Writer::Clocks clocks = clocks_at(begin);
  // The name of the file tells when its recording began, in whole seconds: rounded to the past,
  // so that who looks for a span by names misses no sample.
  uint64_t ago = monotonic_ns() - clocks.monotonic_ns;
  UniqueFd file = files_.begin_recording((ago + kSecond - 1) / kSecond);
  if (!file)
    return system_error(fmt::format("cannot write into '{}'", printable(directory_)), errno);
  // Nobody else writes this file, and no older one gave way to it (raw::OutputFile).
  raw::OutputFile output{.fd = std::move(file),
                         .name = fmt::format("a file in '{}'", printable(directory_)),
                         .is_ours = true,
                         .has_set_aside = false};
  auto saved = save(begin, [&](const RecordingInfo& info, const raw::Writer::Clocks&) {
    return raw::Writer::create(std::move(output), info, clocks);
  });
  if (!saved) {
    files_.drop();
    return std::move(saved).error();
  }
  // A recording that has its name needs its files: the store marks them as used now, for they
  // may have been put there long before.
  store_.use_all();
  std::string name = files_.publish();
  if (name.empty())
    return system_error(fmt::format("cannot name a recording in '{}'", printable(directory_)),
                        errno);
  file_count_++;
  bytes_written_ += *saved;
  written_until_ = last;
  return name;
}

Result<> FlightWindow::write_image(const RecordedImage& image) {
  known_[image.id] = image;
  return RecordingWindow::write_image(image);
}

Result<> FlightWindow::write_piece(const ImagePiece& piece) {
  // Pieces go to the store, and into memory if the file has no id to be stored by.
  auto image = known_.find(piece.image);
  if (image != known_.end() && store_.take(piece, image->second))
    return Ok{};
  return RecordingWindow::write_piece(piece);
}

Result<> FlightWindow::write_end(uint64_t time) {
  store_.finish();
  return RecordingWindow::write_end(time);
}

}  // namespace gosym
