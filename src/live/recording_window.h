#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "live/past_state.h"
#include "proc/process.h"
#include "raw/reader.h"
#include "record/sink.h"

namespace gosym {

// The last part of a recording, in memory: the samples of so much time, what happened in it,
// and what was so when it began. What happened before and is over costs nothing, but for
// images and the files that are kept of them: these stay.
//
// The window begins later if that would take too much memory. The recorder writes while others
// read.
class RecordingWindow : public RecordingSink {
public:
  // `span` is in nanoseconds. Processes that have ended are told by the function.
  using HasEnded = std::function<bool(uint32_t pid)>;
  RecordingWindow(RecordingInfo info, uint64_t span, HasEnded has_ended = proc::has_ended);

  // A recording of what was sampled from `time` on, as far as it is kept. It has no part of the
  // window: that may go on meanwhile. Pieces of files that the caller has already are left out.
  using Images = std::set<ImageId>;
  raw::Recording since(uint64_t time, const Images& has = {}) const;
  // The recording of all samples that no call of this has given.
  raw::Recording take_new(const Images& has = {});

  // Writes what since() has to a file, as raw::Writer does.
  Result<> save(uint64_t time, const std::string& path) const;
  // Likewise where this makes a file of it. Gives its size.
  using CreateWriter = std::function<Result<std::unique_ptr<raw::Writer>>(
      const RecordingInfo& info, const raw::Writer::Clocks& clocks)>;
  Result<uint64_t> save(uint64_t time, const CreateWriter& create) const;

  // Up to when all is known, of CLOCK_MONOTONIC; 0: nothing is yet.
  uint64_t end() const;

  struct Size {
    uint64_t samples = 0;
    uint64_t sample_bytes = 0;
    uint64_t events = 0;
    uint64_t processes = 0;       // processes whose state before the window is known
    uint64_t file_bytes = 0;      // bytes of files that are kept
    uint64_t missed_samples = 0;  // samples that left the window before take_new() gave them
  };
  Size size() const;

  // The recorder calls these as it reads its rings, and write_end() with the time of the end,
  // of CLOCK_MONOTONIC. Counts are those since it began.
  Result<> write_image(const RecordedImage& image) override;
  Result<> write_events(std::span<const Event> events) override;
  Result<> write_samples(const raw::SampleBatch& batch) override;
  Result<> write_kernel_symbols(std::string_view kallsyms) override;
  Result<> write_perf_map(const RecordedPerfMap& map) override;
  Result<> write_piece(const ImagePiece& piece) override;
  Result<> write_vdso(std::string_view image) override;
  Result<> write_stats(const RecordingStats& stats) override;
  Result<> write_end(uint64_t time) override;
  uint64_t bytes_written() const override { return 0; }

private:
  struct Samples {
    raw::Recording::StoredChunk chunk;
    uint64_t first = 0;  // time
    uint64_t last = 0;
    uint64_t count = 0;
    std::set<uint32_t> pids;
    std::set<uint64_t> cgroups;
    bool is_taken = false;
  };

  // With the mutex held:
  raw::Recording make_since(uint64_t time, const Images& has) const;
  // The recording of these samples from a time on; with `has_older` also of those before it.
  raw::Recording make(uint64_t begin, const std::vector<const Samples*>& samples,
                      const Images& has, bool has_older = false) const;
  void add_events(const std::vector<const Samples*>& samples, raw::Recording& recording) const;
  std::vector<RecordingStats> counts_since(uint64_t begin) const;
  bool is_too_large() const;
  // Moves the window to the last counts, and on where it takes too much memory.
  void move_on();
  // Drops samples before the time, and makes events before it part of the state.
  void move_to(uint64_t begin);
  void forget_ended();

  const RecordingInfo info_;
  const uint64_t span_;
  const HasEnded has_ended_;
  const raw::Writer::Clocks clocks_;

  mutable std::mutex mutex_;
  uint64_t begin_ = 0;
  uint64_t started_at_ = 0;
  uint64_t taken_until_ = 0;  // the end, when take_new() was called last
  uint64_t missed_samples_ = 0;
  uint64_t swept_at_ = 0;  // when ended processes were looked for
  uint32_t tree_ = 0;      // of the chunk that came last
  std::deque<Samples> samples_;
  uint64_t sample_bytes_ = 0;
  std::vector<Event> events_;
  PastState past_;  // state before these
  std::vector<RecordedImage> images_;
  std::string kernel_symbols_;
  std::string vdso_;
  std::vector<RecordedPerfMap> perf_maps_;
  struct Piece {
    ImageId image{};
    raw::Recording::StoredChunk chunk;
  };
  std::vector<Piece> pieces_;
  uint64_t piece_bytes_ = 0;
  std::deque<RecordingStats> stats_;  // of the window, and the last ones before it
};

}  // namespace gosym
