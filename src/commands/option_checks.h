#pragma once

#include <optional>
#include <string>

#include "commands/command_line.h"
#include "model/recording.h"
#include "symbolize/names.h"

// Checks of what the user gave an option.

namespace gosym {

// Checks the id of a "process" or a "thread".
Check check_id(const char* kind);

// Checks the id of a process or the name of its program.
std::string check_process(const std::string& text);

// Checks a time from one look to the next: a duration, and none that would leave no time
// between.
std::string check_interval(const std::string& text);

// Checks a number from 0 on.
std::string check_count(const std::string& text);

// Refuses an empty text: an empty variable of a script is not the absence of the option.
std::string check_given(const std::string& text);

// The option --demangle; `form` stays none unless it is given.
Option name_option(std::optional<NameForm>& form);

// --max-loss PERCENT, of record and report.
Option loss_option(std::string& text);

// "0", "2.5", "2.5%"; empty: 100. None for anything else.
std::optional<double> parse_loss(const std::string& text);

// Percent of the samples that were taken.
double loss_percent(const RecordingStats& stats);

}  // namespace gosym
