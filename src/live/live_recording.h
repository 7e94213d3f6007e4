#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "live/recording_window.h"
#include "record/recorder.h"
#include "record/watch.h"
#include "symbolize/make_profile.h"
#include "symbolize/symbol_cache.h"

namespace gosym {

// A recording that goes on in a thread of its own, kept in memory, and profiles of it for
// another thread, as often as that asks: that one's calls are all functions but those with
// which the recording is begun.
class LiveRecording {
public:
  struct Options {
    SamplerOptions sampler;  // with which the sampler was opened
    ArchiveChoice archive;
    uint64_t window = 0;  // in nanoseconds: so long samples are kept
    GroupBy group_by;     // of profiles
    NameForms names;
  };

  LiveRecording(Options options, std::unique_ptr<Sampler> sampler, DebugFileOptions files);
  ~LiveRecording();

  // See Recorder.
  Result<> start() { return recorder_.start(); }

  // Records in a thread of its own until the watch tells to stop, or stop() does. The watch is
  // the thread's until finish().
  void run(Watch& watch);

  // Waits until a time of CLOCK_MONOTONIC; false: the recording has ended before. That is so as
  // well when it has failed.
  bool wait_until(uint64_t time);
  void stop() { is_stopping_ = true; }

  // Waits for the end; why it came.
  Result<Stop> finish();

  // A named profile of the last `span` nanoseconds, up to this moment or the end. Samples
  // before reset() are left out, and those that the window has no longer. Without samples it is
  // empty.
  Result<NamedProfile> profile(uint64_t span);
  // The profile of all samples that no call of this has given, as far as the window has them.
  Result<NamedProfile> new_samples();
  // Leaves samples up to now out of both.
  void reset();

  // Writes the same as a recording.
  Result<> save(uint64_t span, const std::string& path);

  RecordingWindow::Size size() const { return window_.size(); }
  const RecordingInfo& info() const { return info_; }
  // Once it has finished.
  Recorder::Summary summary() const { return recorder_.summary(); }

private:
  void record(Watch& watch);
  Result<Stop> record_until_stopped(Watch& watch);
  void catch_up();
  // The begin of the last `span` nanoseconds, not before reset().
  uint64_t begin_of(uint64_t span);
  Result<NamedProfile> named(raw::Recording recording);
  RecordingWindow::Images held_images() const;

  const Options options_;
  const DebugFileOptions files_;
  const std::unique_ptr<Sampler> sampler_;
  const RecordingInfo info_;
  RecordingWindow window_;
  Recorder recorder_;
  uint64_t reset_at_ = 0;
  SymbolCache cache_;

  std::thread thread_;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_behind_ = false;           // what has come in is wanted in the window
  std::optional<Result<Stop>> end_;  // none: it goes on
};

}  // namespace gosym
