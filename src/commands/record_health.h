#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "commands/record_options.h"
#include "record/metrics_file.h"
#include "record/recorder.h"
#include "record/service_manager.h"

namespace gosym {

// Tells others how a recorder is: a service manager that it is at work, and Prometheus its
// figures, in a file.
class RecordHealth {
public:
  explicit RecordHealth(const RecordOptions& options) : options_(&options) {}

  // To be called while there are the rights for it.
  Result<> open();

  void tell_ready() const { manager_.tell_ready(); }
  // Often enough if it is called for each look at the rings.
  void step(const Recorder& recorder, uint64_t files);
  void tell_end(const Recorder& recorder, uint64_t files);

private:
  void write_metrics(const Recorder& recorder, uint64_t files);

  const RecordOptions* options_;
  ServiceManager manager_;
  MetricsFile metrics_;
  uint64_t next_ = 0;
  bool has_failed_ = false;
};

// The text of the file. `files` were written into a directory, or one.
std::string metrics_of(const RecordingStats& stats, uint64_t bytes, uint64_t files);

}  // namespace gosym
