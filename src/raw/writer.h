#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/recording.h"
#include "raw/sample_batch.h"

namespace gosym::raw {

// Appends chunks to a recording (format.h specifies them). Each call writes one chunk with one
// write(2), compressed, and leaves a file that reads up to there whatever happens next. Written
// images and events must come before the samples that need them.
//
// After the first failure, a full disk for one, the file ends at the last whole chunk.
class Writer {
public:
  // Creates `path` with mode 0600 and writes the header and the info chunk. An existing regular
  // file is renamed to PATH.old first. "-" is standard output.
  static Result<std::unique_ptr<Writer>> create(const std::string& path,
                                                const RecordingInfo& info);

  Result<> write_image(const RecordedImage& image);
  Result<> write_events(std::span<const Event> events);
  Result<> write_samples(const SampleBatch& batch);
  Result<> write_kernel_symbols(std::string_view kallsyms);
  Result<> write_stats(const RecordingStats& stats);
  // The last chunk: the recording was ended in order, at this time of CLOCK_MONOTONIC.
  Result<> write_end(uint64_t time);

  uint64_t bytes_written() const { return bytes_written_; }

private:
  explicit Writer(UniqueFd file) : file_(std::move(file)) {}
  Result<> write_chunk(uint16_t type, std::string_view payload);

  UniqueFd file_;
  uint64_t sequence_ = 0;
  uint64_t bytes_written_ = 0;
};

}  // namespace gosym::raw
