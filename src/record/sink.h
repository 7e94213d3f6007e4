#pragma once

#include "model/recording.h"
#include "raw/writer.h"

namespace gosym {

// Receives a recording: the chunks that raw::Writer writes, in the order that it asks for.
// Images and events come before the samples that need them.
class RecordingSink {
public:
  RecordingSink() = default;
  virtual ~RecordingSink() = default;
  RecordingSink(const RecordingSink&) = delete;
  RecordingSink& operator=(const RecordingSink&) = delete;

  virtual Result<> write_image(const RecordedImage& image) = 0;
  virtual Result<> write_events(std::span<const Event> events) = 0;
  virtual Result<> write_samples(const raw::SampleBatch& batch) = 0;
  virtual Result<> write_kernel_symbols(std::string_view kallsyms) = 0;
  virtual Result<> write_perf_map(const RecordedPerfMap& map) = 0;
  virtual Result<> write_piece(const ImagePiece& piece) = 0;
  virtual Result<> write_vdso(std::string_view image) = 0;
  virtual Result<> write_stats(const RecordingStats& stats) = 0;
  virtual Result<> write_end(uint64_t time) = 0;

  virtual uint64_t bytes_written() const = 0;
};

// One file.
class FileSink : public RecordingSink {
public:
  explicit FileSink(std::unique_ptr<raw::Writer> writer) : writer_(std::move(writer)) {}

  Result<> write_image(const RecordedImage& image) override {
    return writer_->write_image(image);
  }
  Result<> write_events(std::span<const Event> events) override {
    return writer_->write_events(events);
  }
  Result<> write_samples(const raw::SampleBatch& batch) override {
    return writer_->write_samples(batch);
  }
  Result<> write_kernel_symbols(std::string_view kallsyms) override {
    return writer_->write_kernel_symbols(kallsyms);
  }
  Result<> write_perf_map(const RecordedPerfMap& map) override {
    return writer_->write_perf_map(map);
  }
  Result<> write_piece(const ImagePiece& piece) override { return writer_->write_piece(piece); }
  Result<> write_vdso(std::string_view image) override { return writer_->write_vdso(image); }
  Result<> write_stats(const RecordingStats& stats) override {
    return writer_->write_stats(stats);
  }
  Result<> write_end(uint64_t time) override { return writer_->write_end(time); }

  uint64_t bytes_written() const override { return writer_->bytes_written(); }

private:
  std::unique_ptr<raw::Writer> writer_;
};

}  // namespace gosym
