#include "model/recording.h"

#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/percent.h"

namespace gosym {

namespace {

// Linux maps no file with more program headers than fit into 64 KiB (load_elf_phdrs).
constexpr size_t kMaxSegments = 65536 / sizeof(Elf64_Phdr);

}  // namespace

uint64_t threshold_of(const RecordedEvent& event, const RecordedSample& sample) {
  // GOSYM_MAX_DOUBLINGS of bpf/sample.h: no recorder doubles more often. The file may say any
  // number; a product beyond 64 bits becomes about the largest.
  constexpr uint32_t kMaxDoublings = 30;
  uint32_t doublings = std::min(sample.doublings, kMaxDoublings);
  return std::min(event.period, UINT64_MAX >> doublings) << doublings;
}

// A wait below its threshold weighs as much as that (weight_of() of bpf/waits.bpf.c). With the
// threshold that was asked for, the weight still passes for its length.
bool is_interval(const RecordedEvent& event, const RecordedSample& sample) {
  return has_intervals(event) &&
         (sample.doublings == 0 || sample.weight > threshold_of(event, sample));
}

bool has_values(std::span<const RecordedEvent> events) {
  return std::ranges::any_of(events,
                             [](const RecordedEvent& event) { return !event.others.empty(); });
}

std::vector<RecordedEvent> shown_events(std::span<const RecordedEvent> events) {
  std::vector<RecordedEvent> shown;
  for (const RecordedEvent& event : events) {
    RecordedEvent& first = shown.emplace_back(event);
    first.others.clear();
    first.place = 0;
    // The period is that by which samples were taken, told of the first value alone.
    for (const EventValue& value : event.others)
      shown.push_back(
          {.name = value.name, .period = 1, .unit = value.unit, .measure = value.measure});
  }
  return shown;
}

std::vector<uint32_t> first_shown(std::span<const RecordedEvent> events) {
  std::vector<uint32_t> firsts = {0};
  for (const RecordedEvent& event : events)
    firsts.push_back(firsts.back() + value_count(event));
  return firsts;
}

std::string time_text(uint64_t nanoseconds) {
  if (nanoseconds % 1'000'000'000 == 0)
    return fmt::format("{} s", nanoseconds / 1'000'000'000);
  if (nanoseconds % 1'000'000 == 0)
    return fmt::format("{} ms", nanoseconds / 1'000'000);
  return nanoseconds % 1000 == 0 ? fmt::format("{} us", nanoseconds / 1000)
                                 : fmt::format("{} ns", nanoseconds);
}

std::string event_text(const RecordedEvent& event) {
  if (event.frequency != 0)
    return fmt::format("{} at {} Hz", event.name, event.frequency);
  // A period of 1 is each event, and 0 is not known. Amounts of an event with a unit are in
  // that unit already, whatever its period is; only waits are told with theirs, the threshold
  // that they were chosen by.
  if (event.period <= 1 || (!event.unit.empty() && !has_intervals(event)))
    return event.name;
  if (has_intervals(event))
    return fmt::format("{}, one in {}", event.name, time_text(event.period));
  return fmt::format("{}, one in {}", event.name, event.period);
}

std::string amount_text(const RecordedEvent& event) {
  if (measures_cpu_time(event))
    return "CPU time";
  if (event.measure == Measure::kWaiting)
    return "waiting";
  return event.measure == Measure::kGoroutineTime ? "goroutine time" : event.name;
}

CpuCounts of_event(CpuCounts counts, uint32_t event) {
  // Samples, losses and ticks are of one event; lost events and throttling are of the CPU, and
  // stay.
  if (counts.event != event)
    counts.samples = counts.lost_samples = counts.skipped = counts.lost_ns = 0;
  counts.event = 0;
  return counts;
}

uint64_t RecordingStats::sum_of(uint64_t CpuCounts::*what) const {
  uint64_t sum = 0;
  for (const CpuCounts& counts : cpus)
    sum += counts.*what;
  return sum;
}

std::optional<ImageAddress> code_at(std::span<const LoadSegment> segments,
                                    uint64_t file_offset) {
  for (const LoadSegment& segment : segments.first(std::min(segments.size(), kMaxSegments))) {
    // The distance of an offset before the segment wraps around, to more than any size.
    bool is_code = (segment.flags & PF_X) != 0;
    if (is_code && file_offset - segment.file_offset < segment.file_size)
      return ImageAddress{segment.address + (file_offset - segment.file_offset)};
  }
  return std::nullopt;
}

uint64_t RecordingStats::due_ticks() const {
  std::set<uint32_t> skipping;
  for (const CpuCounts& counts : cpus)
    if (counts.skipped > 0)
      skipping.insert(counts.event);
  uint64_t due = 0;
  for (const CpuCounts& counts : cpus)
    if (skipping.contains(counts.event))
      due += counts.samples + counts.lost_samples + counts.skipped;
  return due;
}

double RecordingStats::skipped_percent() const {
  constexpr uint64_t kFew = 10;
  constexpr double kFewPercent = 1;
  uint64_t skipped = sum_of(&CpuCounts::skipped);
  double share = percent(skipped, due_ticks());
  return skipped < kFew || share < kFewPercent ? 0 : share;
}

std::optional<int64_t> unsampled_ns(const RecordingInfo& info, const RecordingStats& stats) {
  auto clock = std::ranges::find(info.events, Measure::kClock, &RecordedEvent::measure);
  if (clock == info.events.end() || !info.has_user || !info.has_kernel || stats.charged_ns == 0)
    return std::nullopt;
  double samples = 0;
  double ticks = 0;
  for (const CpuCounts& counts : stats.cpus)
    if (counts.event == static_cast<uint32_t>(clock - info.events.begin())) {
      samples += static_cast<double>(counts.samples + counts.lost_samples);
      // A sample of BPF has the weight of the ticks that were skipped before it; samples of
      // perf_event stand for no others, so that their skipped ticks are unsampled time.
      ticks += info.sampler == "perf" ? 0 : static_cast<double>(counts.skipped);
    }
  // Without a period and a frequency, as a file may say, the tick is infinite: then the
  // comparison at the end is false, and nothing is told.
  double tick = clock->period != 0 ? static_cast<double>(clock->period)
                                   : 1e9 / static_cast<double>(clock->frequency);
  double charged = static_cast<double>(stats.charged_ns);
  double unsampled = charged - (samples + ticks) * tick;
  // A difference is told only beyond three standard deviations of a count of samples drawn at
  // random, and beyond a hundredth.
  double chance =
      std::max(3 * std::sqrt(std::max(samples, charged / tick)) * tick, charged / 100);
  return std::abs(unsampled) > chance ? std::optional(static_cast<int64_t>(unsampled))
                                      : std::nullopt;
}

std::string why_skipped(const RecordingInfo& info) {
  if (info.sampler == "perf" && info.has_user != info.has_kernel)
    return info.has_user ? "they came in the kernel, or not at all"
                         : "they came in user code, or not at all";
  return "sampling, or the machine, took longer than a tick";
}

}  // namespace gosym
