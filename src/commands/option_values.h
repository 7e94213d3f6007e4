#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_line.h"
#include "model/recording.h"
#include "symbolize/names.h"

// Values that several options have: parsers for into() of command_line.h, whose errors say what
// is wrong with the text, and options that several commands share.

namespace gosym {

// Refuses an empty text: an empty variable of a script is not the absence of the option.
Result<std::string> parse_given(const std::string& text);

Result<uint32_t> parse_process_id(const std::string& text);
Result<uint32_t> parse_thread_id(const std::string& text);
// The id of a process or the name of its program; the text stays as it is.
Result<std::string> parse_process(const std::string& text);

// A time from one look to the next, in nanoseconds: none that would leave no time between.
Result<uint64_t> parse_interval(const std::string& text);

// A number from 0 on.
Result<uint64_t> parse_count(const std::string& text);

// "0", "2.5", "2.5%": from 0 on; a share is 100 at most.
Result<double> parse_percent(const std::string& text);
Result<double> parse_share(const std::string& text);

// The words that a shell offers for a list of names: "function" and "label:" of
// "function, label:KEY".
std::vector<std::string> words_of_names(std::string_view names);

// A directory that is there.
Result<std::string> parse_directory(const std::string& path);

// The option --demangle; `form` stays none unless it is given.
Option name_option(std::optional<NameForm>& form);

// --max-loss PERCENT, of record and report.
Option loss_option(double& percent);

// --jobs N, of commands that share work; 0, where it is not given: usual_workers().
Option jobs_option(size_t& count);

// Percent of the samples that were taken.
double loss_percent(const RecordingStats& stats);

}  // namespace gosym
