#pragma once

#include <optional>
#include <string>

#include "commands/command_line.h"
#include "model/recording.h"

namespace gosym {

// --max-loss PERCENT, of record and report.
Option loss_option(std::string& text);

// "0", "2.5", "2.5%"; empty: 100. None for anything else.
std::optional<double> parse_loss(const std::string& text);

// Percent of the samples that were taken.
double loss_percent(const RecordingStats& stats);

}  // namespace gosym
