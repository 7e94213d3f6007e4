#include "profile/recording.h"

#include <fmt/core.h>

namespace gosym {

std::string event_text(const RecordingInfo& info) {
  if (info.frequency != 0)
    return fmt::format("{} at {} Hz", info.event, info.frequency);
  if (info.period == 1)
    return info.event;
  return fmt::format("{}, one in {}", info.event, info.period);
}

}  // namespace gosym
