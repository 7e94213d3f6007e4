#include "profile/recording.h"

#include <fmt/core.h>

#include "base/percent.h"

namespace gosym {

std::string event_text(const RecordingInfo& info) {
  if (info.frequency != 0)
    return fmt::format("{} at {} Hz", info.event, info.frequency);
  if (info.period == 1)
    return info.event;
  return fmt::format("{}, one in {}", info.event, info.period);
}

uint64_t RecordingStats::sum_of(uint64_t CpuCounts::*what) const {
  uint64_t sum = 0;
  for (const CpuCounts& counts : cpus)
    sum += counts.*what;
  return sum;
}

double RecordingStats::skipped_percent() const {
  constexpr uint64_t kFew = 10;
  constexpr double kFewPercent = 1;
  uint64_t skipped = sum_of(&CpuCounts::skipped);
  double share = percent(skipped, samples + lost_samples + skipped);
  return skipped < kFew || share < kFewPercent ? 0 : share;
}

std::string why_skipped(const RecordingInfo& info) {
  if (info.sampler == "perf" && info.has_user != info.has_kernel)
    return info.has_user ? "they came in the kernel, or not at all"
                         : "they came in user code, or not at all";
  return "sampling, or the machine, took longer than one";
}

}  // namespace gosym
