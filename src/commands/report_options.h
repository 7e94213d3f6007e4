#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/print.h"
#include "commands/command_line.h"
#include "commands/debug_options.h"
#include "commands/option_values.h"
#include "commands/recordings.h"
#include "commands/terminal.h"
#include "exchange/input_kind.h"
#include "output/format.h"
#include "profile/filter.h"
#include "view/selection.h"

namespace gosym {

// A time as it was given, and in nanoseconds since 1970.
struct Moment {
  std::string text = {};
  uint64_t time = 0;
};

// The command line of `gosym report`.
struct ReportOptions {
  std::vector<std::string> inputs = {};  // recordings, and directories of them
  std::string format = "text";
  std::string output = "-";
  Moment since;
  Moment until = {"", UINT64_MAX};
  WantedRecordings recordings;  // by these, and by host
  ViewOptions view;
  Filter filter;
  Selection selection;
  ColourMode colour = ColourMode::kAuto;
  bool has_pager = true;
  bool is_stdio = false;  // printed, though the browser could show it
  // For the browser: all that it can choose by is told apart.
  bool is_browsed = false;
  // For a first look: so many bytes of the samples of each recording are read.
  uint64_t most_samples = UINT64_MAX;
  // The side of a page that compares which is read; none: such a page is refused.
  std::optional<Side> side;
  // For a comparison: steps of time are told apart, as view/difference.h wants them.
  bool is_compared = false;
  // The first recordings of all hosts are taken to have begun together.
  bool is_aligned = false;
  bool has_needs = false;  // files without names are listed, and nothing else
  std::string event;       // empty: all of them, or the first if the format takes but one
  std::optional<NameForm> name_form;  // none: as the format needs them
  DebugOptions debug;
  bool keeps_wrappers = false;
  bool has_goids = false;
  bool has_creators = false;       // of goroutines, as the roots of their stacks
  bool charges_collector = false;  // to those who allocate
  bool has_idle = false;           // waits of idle threads, where they would be left out
  std::string source_directory;    // empty: source files are where they are recorded to be
  bool has_page_sources = false;
  bool is_strict = false;
  double max_loss = 100;  // percent of the samples
  size_t jobs = 0;        // threads; 0: as many as are usual
  bool is_verbose = false;
  bool is_quiet = false;
};

inline constexpr size_t kMaxDimensions = 3;  // of --by

std::vector<OptionGroup> report_options(ReportOptions& options);

// Options of these that other commands which show a profile have.
OptionGroup view_options(ViewOptions& options);
// An error of usage.
Result<> check_view(const ViewOptions& view);
OptionGroup selection_options(Selection& selection);
OptionGroup filter_options(ReportOptions& options);
// Makes one span of --since and --until.
Result<> set_span(ReportOptions& options);
OptionGroup output_options(ReportOptions& options);
OptionGroup naming_options(ReportOptions& options);

}  // namespace gosym
