#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "commands/record_options.h"
#include "live/flight_window.h"
#include "live/rotation.h"
#include "record/recorder.h"
#include "record/recording_directory.h"
#include "record/remover.h"
#include "record/sink.h"
#include "record/storer.h"
#include "record/trigger.h"

namespace gosym {

// The output of `gosym record`: a file or a stream; or a directory, which gets one file after
// the other by --rotate, and by --last one whenever somebody wants it.
class RecordOutput {
public:
  // Opens and locks the directory, if there is to be one: what is wrong with it is said before
  // anything else is done.
  static Result<RecordOutput> prepare(const RecordOptions& options, const RecordPlan& plan);

  // Creates the file. What was there before stays as it was if this fails.
  Result<> create(const RecordingInfo& info);

  RecordingSink& sink() { return *sink_; }
  uint64_t file_count() const;

  // Goes on to the next file if it is time, or makes one of what was last if there is a reason
  // to; or if somebody has asked.
  Result<> step(Recorder& recorder, bool is_asked);

  // Makes a file for a reason that still waits, before the recording ends.
  Result<> end(Recorder& recorder);

  // "1.2 MiB -> cpu.raw". A file without samples is removed.
  std::string finish(const Recorder::Summary& summary);

private:
  RecordOutput(const RecordOptions& options, const RecordPlan& plan)
      : options_(&options),
        rotate_ns_(plan.rotate_ns),
        last_ns_(plan.last_ns),
        keep_(plan.keep),
        when_(plan.when) {}

  Result<> begin_in_directory(const RecordingInfo& info);
  Result<> rotate(Recorder& recorder);
  void look_for_reason(uint64_t now);
  Result<> take_snapshot(Recorder& recorder);

  const RecordOptions* options_;
  uint64_t rotate_ns_;  // 0: it is one file, or a flight recorder
  uint64_t last_ns_;    // of that
  Retention keep_;
  std::vector<Trigger> when_;
  std::unique_ptr<RecordingDirectory> directory_;
  std::unique_ptr<Storer> storer_;
  std::unique_ptr<Remover> remover_;
  std::unique_ptr<RecordingSink> sink_;
  RotatingSink* rotating_ = nullptr;  // the same
  FlightWindow* flight_ = nullptr;    // likewise
  uint64_t next_ = 0;                 // file begins then, or look at what is waited for
  uint64_t snapshot_at_ = 0;          // when the last one was made
  std::string reason_;                // for the next one; empty: none yet
};

}  // namespace gosym
