#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "live/past_state.h"
#include "live/piece_store.h"
#include "proc/process.h"
#include "raw/writer.h"
#include "record/rotation_files.h"
#include "record/sink.h"

namespace gosym {

// Both clocks at a time of CLOCK_MONOTONIC that has been, by what they show now; 0: now.
raw::Writer::Clocks clocks_at(uint64_t time);

// A recording that goes on from file to file, each of which can be read alone: it begins with
// what is known by then of the kernel, and has of each process what it was when the file began,
// from the first event or sample of it there on. So a file of a machine with many processes has
// those that did something.
//
// Files that are kept of programs go into a store that all recordings share, if they have a
// build id.
//
// Where the disk is full, samples are lost, and counted, until there is room.
class RotatingSink : public RecordingSink {
public:
  using Tell = std::function<void(const std::string& what)>;
  using HasEnded = std::function<bool(uint32_t pid)>;
  // `directory` is its name for messages. The files have to outlive this.
  RotatingSink(RecordingInfo info, std::string directory, RotationFiles& files, Tell tell,
               HasEnded has_ended = proc::has_ended);
  ~RotatingSink() override;

  // Begins the first file.
  Result<> begin();
  // Ends the file, of which all is written, and begins the next one.
  Result<> rotate();

  uint64_t file_count() const { return file_count_; }
  uint64_t dropped_samples() const { return all_dropped_; }
  // The one that is written, or was written last.
  const std::string& file_name() const { return name_; }

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
  uint64_t bytes_written() const override;

private:
  using Write = std::function<Result<>(raw::Writer& writer)>;
  Result<> put(const Write& write);
  Result<> begin_file();
  Result<> write_begin(raw::Writer& writer);
  Result<> try_again();
  // `cause` is an errno; 0: it is not known.
  void give_up(const Error& error, int cause);
  void end_file(raw::Writer& writer, uint64_t time);
  void tell_once(const std::string& what);

  // Appends the state of a process, once a file.
  void introduce(uint32_t pid, std::vector<Event>& events);
  void introduce_those_of(const Event& event, std::vector<Event>& events);
  Result<> put_events(const std::vector<Event>& events);
  Result<> put_image(ImageId id);
  RecordingStats stats_of_file() const;
  void forget_ended();

  const RecordingInfo info_;
  const std::string directory_;
  RotationFiles& files_;
  PieceStore store_;
  const Tell tell_;
  const HasEnded has_ended_;

  // The state that each file begins with.
  PastState past_;
  std::map<ImageId, RecordedImage> images_;
  std::string kernel_symbols_;
  std::string vdso_;
  RecordingStats stats_;  // since the recording began

  // The file that is written.
  std::unique_ptr<raw::Writer> writer_;  // null: there is none, the disk is full
  std::string name_;
  RecordingStats before_;  // counts when it began
  std::set<uint32_t> introduced_;
  std::set<uint32_t> sampled_;
  std::set<ImageId> written_images_;

  uint64_t file_count_ = 0;
  uint64_t bytes_before_ = 0;  // of the files before
  uint64_t dropped_ = 0;       // samples that there was no room for, and no file has told of
  uint64_t all_dropped_ = 0;
  uint64_t next_try_ = 0;
  bool is_full_ = false;  // the disk; it has been said
};

}  // namespace gosym
