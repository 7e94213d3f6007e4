#include "commands/record_health.h"

#include <unistd.h>

#include <cstring>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "base/text.h"

namespace gosym {

namespace {

// Prometheus asks as often as this, as a rule.
constexpr uint64_t kMetricsTime = 15'000'000'000;

// /proc/self/statm: its second number, in pages.
uint64_t resident_bytes() {
  constexpr size_t kMaxStatm = 256;
  auto text = read_file("/proc/self/statm", kMaxStatm);
  auto words = text ? split(*text, ' ') : std::vector<std::string_view>();
  auto pages = words.size() > 1 ? parse_decimal(words[1]) : std::nullopt;
  return pages.value_or(0) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Result<> RecordHealth::open() {
  return options_->metrics.empty() ? Ok{} : metrics_.start(options_->metrics);
}

void RecordHealth::step(const Recorder& recorder, uint64_t files) {
  uint64_t now = monotonic_ns();
  // A recorder that hangs does not come here, and its manager then starts it anew.
  manager_.tell_alive(now);
  if (!metrics_.is_started() || now < next_)
    return;
  next_ = now + kMetricsTime;
  write_metrics(recorder, files);
}

void RecordHealth::tell_end(const Recorder& recorder, uint64_t files) {
  manager_.tell_end();
  if (metrics_.is_started())
    write_metrics(recorder, files);
}

// A failure is no reason to end the recording. It is said once, and again if it comes back
// after a write that worked.
void RecordHealth::write_metrics(const Recorder& recorder, uint64_t files) {
  int error = metrics_.write(metrics_of(recorder.stats(), recorder.file_size(), files));
  if (error != 0 && !std::exchange(has_failed_, true))
    warn(*options_, "--metrics: cannot write '{}': {}", printable(options_->metrics),
         std::strerror(error));
  if (error == 0)
    has_failed_ = false;
}

std::string metrics_of(const RecordingStats& stats, uint64_t bytes, uint64_t files) {
  auto count = [](uint64_t number) { return static_cast<double>(number); };
  // Counters are of the whole life of the recorder, through all files that it has begun.
  return metric_text("gosym_samples_total", "counter", "Samples that were taken",
                     count(stats.samples)) +
         metric_text("gosym_lost_samples_total", "counter",
                     "Samples for which there was no room in a ring",
                     count(stats.lost_samples)) +
         metric_text("gosym_lost_events_total", "counter",
                     "Mappings, forks and the like that the kernel had no room for",
                     count(stats.lost_events)) +
         metric_text("gosym_skipped_ticks_total", "counter",
                     "Ticks of the clock that did not come",
                     count(stats.sum_of(&CpuCounts::skipped))) +
         metric_text("gosym_charged_cpu_seconds_total", "counter",
                     "CPU time that the kernel charged to what is recorded",
                     to_seconds(stats.charged_ns)) +
         metric_text("gosym_written_bytes_total", "counter", "Bytes of recordings",
                     count(bytes)) +
         metric_text("gosym_recordings_total", "counter", "Recordings that were begun",
                     count(files)) +
         metric_text("gosym_recorder_cpu_seconds_total", "counter",
                     "CPU time of the recorder, without its helpers",
                     to_seconds(clock_ns(CLOCK_PROCESS_CPUTIME_ID))) +
         metric_text("gosym_recorder_resident_bytes", "gauge",
                     "Memory of the recorder, without its helpers", count(resident_bytes())) +
         metric_text("gosym_last_write_timestamp_seconds", "gauge",
                     "When these figures were written", to_seconds(clock_ns(CLOCK_REALTIME)));
}

}  // namespace gosym
