#include "commands/report_options.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "commands/option_checks.h"

namespace gosym {

namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats())
    names.emplace_back(format.name);
  return names;
}

std::string check_label(const std::string& text) {
  size_t equals = text.find('=');
  return equals != text.npos && equals > 0
             ? std::string()
             : fmt::format("'{}' is not KEY=VALUE", printable(text));
}

std::string check_time(const std::string& text) {
  auto range = parse_time_range(text);
  return range ? std::string() : range.error().message();
}

std::string check_moment(const std::string& text) {
  if (parse_moment(text, clock_ns(CLOCK_REALTIME)))
    return {};
  return fmt::format("'{}' is not a time such as 14:02, 2026-11-22T14:02 or -10m",
                     printable(text));
}

std::string check_pattern(const std::string& text) {
  auto pattern = Pattern::parse(text);
  return pattern ? std::string() : pattern.error().message();
}

// For text that check_pattern() has found to be a pattern.
template <class T>
Setter into_patterns(std::vector<T>& patterns) {
  return [&patterns](const std::string& text) { patterns.push_back(*Pattern::parse(text)); };
}

std::string check_dimensions(const std::string& text) {
  std::vector<std::string_view> parts = split(text, ',');
  if (parts.size() > kMaxDimensions)
    return fmt::format("'{}' has more than {} parts", printable(text), kMaxDimensions);
  for (std::string_view part : parts)
    if (auto dimension = parse_dimension(part); !dimension)
      return dimension.error().message();
  return {};
}

std::string check_percent(const std::string& text) {
  std::string_view digits = text;
  if (digits.ends_with('%'))
    digits.remove_suffix(1);
  bool is_number = !digits.empty() && digits.find_first_not_of("0123456789.") == digits.npos &&
                   std::ranges::count(digits, '.') <= 1 && digits != ".";
  return is_number && std::stod(std::string(digits)) <= 100
             ? std::string()
             : fmt::format("'{}' is not a percentage", printable(text));
}

std::string check_depth(const std::string& text) {
  auto depth = parse_decimal(text);
  return depth && *depth > 0 && *depth < UINT32_MAX
             ? std::string()
             : fmt::format("'{}' is not a depth", printable(text));
}

// Keys that perf sorts by are keys of --by here.
std::string check_sort(const std::string& text) {
  if (text == "self" || text == "total" || text == "name")
    return {};
  return fmt::format("'{}' is not one of self, total, name{}", printable(text),
                     check_dimensions(text).empty()
                         ? fmt::format("; in gosym: --by {}", printable(text))
                         : "");
}

Option view_option(std::string names, std::string help, View view, ViewOptions& options) {
  return {.names = std::move(names),
          .help = std::move(help),
          .set = [&options, view](const std::string& /*none*/) { options.view = view; }};
}

Option function_option(std::string names, std::string help, View view, ViewOptions& options) {
  return {.names = std::move(names),
          .value = "RE",
          .help = std::move(help),
          .set =
              [&options, view](const std::string& text) {
                options.view = view;
                options.function = *Pattern::parse(text);
              },
          .check = check_pattern};
}

}  // namespace

OptionGroup view_options(ViewOptions& options) {
  auto set_dimensions = [&options](const std::string& text) {
    for (std::string_view part : split(text, ','))
      options.by.push_back(*parse_dimension(part));
  };
  auto set_sort = [&options](const std::string& text) {
    options.sort = text == "total"  ? SortBy::kTotal
                   : text == "name" ? SortBy::kName
                                    : SortBy::kSelf;
  };
  std::vector<std::string> views = {"--tree", "--inverted", "--callers", "--callees",
                                    "--lines"};
  OptionGroup group = {
      "What to show",
      {view_option("-g,--tree", "Show the call tree from each thread's first function",
                   View::kTree, options),
       view_option("-G,--inverted",
                   "Show the call tree from the functions that ran, outward to their callers",
                   View::kInverted, options),
       function_option("--callers", "Show who calls the functions that match RE",
                       View::kCallers, options),
       function_option("--callees", "Show what the functions that match RE call",
                       View::kCallees, options),
       function_option("--lines", "Show the lines of the functions that match RE", View::kLines,
                       options),
       {.names = "-s,--by",
        .value = "KEY[,KEY...]",
        .help =
            fmt::format("Group by {}; a second key groups within the first", dimension_names()),
        .set = set_dimensions,
        .check = check_dimensions,
        .excludes = {"--callers", "--callees", "--lines"},
        .values = Values::kEach},
       {.names = "--sort",
        .value = "KEY",
        .help = "Order rows by self, total or name (default: self); keys are for --by",
        .set = set_sort,
        .check = check_sort},
       {.names = "--children",
        .help = "The same as --sort total, for compatibility with perf",
        .set = [&options](const std::string& /*none*/) { options.sort = SortBy::kTotal; }},
       {.names = "--no-children",
        .help = "The same as --sort self",
        .set = [&options](const std::string& /*none*/) { options.sort = SortBy::kSelf; }},
       {.names = "-n,--show-nr-samples",
        .help = "Add a column with the number of samples",
        .set = into(options.has_counts)},
       {.names = "--top",
        .value = "N",
        .help = "Show N rows, in each group of --by; 0 is all (default: what fits, at most 20)",
        .set = [&options](const std::string& text) { options.top = parse_decimal(text); },
        .check = check_count},
       {.names = "--min,--percent-limit",
        .value = "PERCENT",
        .help = "Leave calls below PERCENT of all samples out of a tree (default: 1)",
        .set = [&options](const std::string& text) { options.least_percent = std::stod(text); },
        .check = check_percent},
       {.names = "--depth",
        .value = "N",
        .help = "Show a tree N calls deep (default: all)",
        .set =
            [&options](const std::string& text) {
              options.depth = static_cast<uint32_t>(*parse_decimal(text));
            },
        .check = check_depth},
       {.names = "--fold-recursion",
        .help = "Show functions that call themselves, or up to 16 that call each other in "
                "turn, once; ×98: the deepest such recursion there has 98 calls",
        .set = into(options.folds_recursion)}}};
  // One view at a time.
  for (Option& option : group.options) {
    auto is_own = [&](const std::string& view) { return option.names.ends_with(view); };
    if (std::ranges::any_of(views, is_own))
      std::ranges::remove_copy_if(views, std::back_inserter(option.excludes), is_own);
  }
  return group;
}

OptionGroup selection_options(Selection& selection) {
  auto pattern_option = [](std::string_view names, std::string_view help, auto& patterns) {
    return Option{.names = std::string(names),
                  .value = "RE",
                  .help = std::string(help),
                  .set = into_patterns(patterns),
                  .check = check_pattern,
                  .values = Values::kEach};
  };
  return {
      "Select stacks and frames",
      {pattern_option("-S,--focus", "Only stacks with a function that matches RE",
                      selection.focus),
       pattern_option("--ignore", "Only stacks without a function that matches RE",
                      selection.ignore),
       pattern_option("-d,--module", "Only stacks with code of a file whose name matches RE",
                      selection.modules),
       pattern_option("--hide", "Remove functions that match RE from stacks", selection.hide),
       pattern_option("--show", "Remove all other functions from stacks", selection.show),
       {.names = "--mine",
        .value = "RE",
        .help = "Remove functions that are not the program's own, or do not match RE",
        .set =
            [&](const std::string& text) {
              selection.is_mine = true;
              if (!text.empty())
                into_patterns(selection.mine)(text);
            },
        .check = check_pattern,
        .values = Values::kOptional},
       {.names = "--no-kernel",
        .help = "Remove kernel functions from stacks",
        .set = [&](const std::string& /*none*/) { selection.has_kernel = false; }},
       {.names = "--no-inlines",
        .help = "Show inlined calls as part of the function that they were compiled into",
        .set = [&](const std::string& /*none*/) { selection.has_inlines = false; }}}};
}

namespace {

// Only one of the forms is written. Each but text, the default, has an option of its name.
std::vector<std::string> other_formats(std::string_view name) {
  std::vector<std::string> others = {"--format"};
  for (const Format& format : formats().subspan(1))
    others.push_back(fmt::format("--{}", format.name));
  std::erase(others, name);
  return others;
}

Option format_option(const std::string& name, std::string help, ReportOptions& options) {
  return {.names = name,
          .help = std::move(help),
          .set = [&options, format = name.substr(2)](
                     const std::string& /*none*/) { options.format = format; },
          .excludes = other_formats(name)};
}

Option file_option(const std::string& name, std::string help, ReportOptions& options) {
  std::vector<std::string> others = other_formats(name);
  others.emplace_back("--output");
  return {.names = name,
          .value = "FILE",
          .help = std::move(help),
          .set =
              [&options, format = name.substr(2)](const std::string& file) {
                options.format = format;
                options.output = file;
              },
          .excludes = std::move(others)};
}

}  // namespace

OptionGroup output_options(ReportOptions& options) {
  return {
      "What to write",
      {{.names = "-f,--format",
        .value = "FORMAT",
        .help =
            fmt::format("Form of the output: {} (default: text)", joined(format_names(), ", ")),
        .set = into(options.format),
        .choices = format_names()},
       {.names = "-o,--output",
        .value = "FILE",
        .help = "Write to FILE instead of standard output",
        .set = into(options.output)},
       format_option("--json", "Write JSON, for programs", options),
       format_option("--md", "Write Markdown, for a message", options),
       format_option("--csv", "Write the table as CSV", options),
       format_option("--folded", "Write folded stacks, for flame graphs", options),
       format_option("--script", "Write each sample as perf script does", options),
       file_option("--pprof", "Write a profile for go tool pprof and go build -pgo", options),
       file_option("--html",
                   "Write a page for a browser: flame graph, samples over time, table",
                   options),
       {.names = "--html-source",
        .help = "Put the source files that have samples into the page",
        .set = into(options.has_page_sources),
        .needs = "--html"},
       file_option("--svg", "Write a flame graph as a picture, for a ticket", options),
       file_option("--firefox", "Write a profile for profiler.firefox.com", options),
       file_option("--speedscope", "Write a profile for speedscope", options),
       colour_option(options.colour),
       {.names = "--stdio",
        .help = "Print the report instead of opening the browser",
        .set = into(options.is_stdio)},
       pager_option(options.has_pager)}};
}

// Options that choose samples by the host, service, container or pod that they are of.
std::vector<Option> place_options(ReportOptions& options) {
  Filter& filter = options.filter;
  return {{.names = "--host",
           .value = "NAME",
           .help = "Only recordings of these hosts",
           .set = into(options.recordings.hosts),
           .check = check_given,
           .values = Values::kCommaList},
          {.names = "--service",
           .value = "NAME",
           .help = "Only this unit of systemd, such as nginx, or nginx.service",
           .set = into(filter.services),
           .check = check_given,
           .values = Values::kCommaList},
          {.names = "--container",
           .value = "ID",
           .help = "Only the container with this id, or one that begins so",
           .set = into(filter.containers),
           .check = check_given,
           .values = Values::kCommaList},
          {.names = "--pod",
           .value = "UID",
           .help = "Only the pod of Kubernetes with this uid, or one that begins so",
           .set = into(filter.pods),
           .check = check_given,
           .values = Values::kCommaList}};
}

OptionGroup filter_options(ReportOptions& options) {
  Filter& filter = options.filter;
  OptionGroup group = {
      "Select samples",
      {{.names = "--event",
        .value = "NAME",
        .help = "Only samples of this event, if there are several",
        .set = into(options.event),
        .check = check_given},
       {.names = "--pid",
        .value = "PID",
        .help = "Only these processes, such as 1,2; may be repeated",
        .set = into(filter.pids),
        .check = check_id("process"),
        .values = Values::kCommaList},
       {.names = "--tid",
        .value = "TID",
        .help = "Only these threads",
        .set = into(filter.tids),
        .check = check_id("thread"),
        .values = Values::kCommaList},
       {.names = "-c,--comm",
        .value = "NAME",
        .help = "Only threads, or processes, with this name",
        .set = into(filter.comms),
        .values = Values::kCommaList},
       {.names = "--cgroup",
        .value = "PATH|ID",
        .help = "Only this cgroup and those below it, or the container with this id",
        .set = into(filter.cgroups),
        .check = check_given,
        .values = Values::kCommaList},
       {.names = "--label",
        .value = "KEY=VALUE",
        .help = "Only goroutines with this label (set through runtime/pprof)",
        .set = into(filter.labels),
        .check = check_label,
        .values = Values::kEach},
       {.names = "--time",
        .value = "A,B",
        .help = "Only from A to B, in seconds from the start; either may be empty",
        .set = into(options.time),
        .check = check_time},
       {.names = "--since",
        .value = "WHEN",
        .help = "Only from then on, as clocks had it: 14:02, 2026-11-22T14:02, -10m; with "
                "a Z of UTC",
        .set = into(options.since),
        .check = check_moment,
        .excludes = {"--time", "--align"}},
       {.names = "--until",
        .value = "WHEN",
        .help = "Only up to then",
        .set = into(options.until),
        .check = check_moment,
        .excludes = {"--time", "--align"}},
       {.names = "--align",
        .help = "Let the recordings of several hosts begin together",
        .set = into(options.is_aligned)}}};
  std::vector<Option> places = place_options(options);
  group.options.insert(group.options.end() - 1, places.begin(), places.end());
  return group;
}

Result<> understand_times(ReportOptions& options) {
  uint64_t now = clock_ns(CLOCK_REALTIME);
  Span& span = options.recordings.span;
  if (!options.since.empty())
    span.since = *parse_moment(options.since, now);
  if (!options.until.empty())
    span.until = *parse_moment(options.until, now);
  if (span.since < span.until)
    return Ok{};
  return errorf("--since {} is not before --until {}", options.since, options.until)
      .with_exit_status(kUsage);
}

OptionGroup naming_options(ReportOptions& options) {
  return {"How to name functions",
          {name_option(options.name_form),
           {.names = "--wrappers",
            .help = "Keep the wrapper functions that Go's own tracebacks leave out",
            .set = into(options.keeps_wrappers)},
           {.names = "--source",
            .value = "DIR",
            .help = "Look for source files below DIR first, by the ends of their paths",
            .set = into(options.source_directory)},
           {.names = "--goid",
            .help = "Add the goroutine id to each sample (pprof only)",
            .set = into(options.has_goids)}}};
}

Result<> check_view(const ViewOptions& view) {
  bool is_twice = std::ranges::any_of(
      view.by, [&](const Dimension& one) { return std::ranges::count(view.by, one) > 1; });
  if (view.by.size() > kMaxDimensions)
    return errorf("--by: more than {} keys", kMaxDimensions).with_exit_status(kUsage);
  if (is_twice)
    return Error("--by: a key is named twice").with_exit_status(kUsage);
  return Ok{};
}

std::vector<OptionGroup> report_options(ReportOptions& options) {
  OptionGroup rest = {
      "Other options",
      {{.names = "-i,--input,FILE",
        .value = "FILE",
        .help = "Recordings to read, directories of them, perf.data, pprof profiles or folded "
                "text, or - for standard input (default: cpu.raw)",
        .set = into(options.inputs),
        .values = Values::kFiles},
       {.names = "--needs",
        .help = "List the files whose code has no names, and their packages, and nothing else",
        .set = into(options.has_needs)},
       {.names = "--strict",
        .help = "Exit with status 3 if the recording is damaged or truncated",
        .set = into(options.is_strict)},
       loss_option(options.max_loss),
       {.names = "-v,--verbose",
        .help = "Print more detail",
        .set = into(options.is_verbose),
        .excludes = {"--quiet"}},
       {.names = "-q,--quiet",
        .help = "Print no warnings and no notes",
        .set = into(options.is_quiet)}}};
  OptionGroup filters = filter_options(options);
  filters.options.push_back(
      {.names = "--side",
       .value = "SIDE",
       .help = "Of a page that gosym diff made, what was before, or what came after",
       .set =
           [&options](const std::string& side) {
             options.side = side == "before" ? Side::kBefore : Side::kAfter;
           },
       .choices = {"before", "after"}});
  OptionGroup selection = selection_options(options.selection);
  selection.options.push_back(
      {.names = "--creators",
       .help = "Root the stacks of goroutines at where these were created",
       .set = into(options.has_creators)});
  selection.options.push_back(
      {.names = "--charge-gc",
       .help = "Charge Go's garbage collection to the stacks that allocate: an estimate",
       .set = into(options.charges_collector)});
  selection.options.push_back(
      {.names = "--idle",
       .help = "Show waits of idle threads of Go's runtime with the others",
       .set = into(options.has_idle)});
  return {view_options(options.view),
          std::move(filters),
          std::move(selection),
          output_options(options),
          naming_options(options),
          debug_options(options.debug),
          std::move(rest)};
}

}  // namespace gosym
