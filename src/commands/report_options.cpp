#include "commands/report_options.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "commands/option_values.h"
#include "record/event_type.h"

namespace gosym {

// Groups of options of `gosym report`, which commands that show a profile share: diff, heap
// and top take some of the groups, and of these a part of the options. What `report` alone has
// is added in report_options().

namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats())
    names.emplace_back(format.name);
  return names;
}

Result<std::string> parse_label(const std::string& text) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    return errorf("'{}' is not KEY=VALUE", printable(text));
  return text;
}

Result<std::vector<Dimension>> parse_dimensions(const std::string& text) {
  std::vector<std::string_view> parts = split(text, ',');
  if (parts.size() > kMaxDimensions)
    return errorf("'{}' has more than {} parts", printable(text), kMaxDimensions);
  std::vector<Dimension> dimensions;
  for (std::string_view part : parts) {
    auto dimension = parse_dimension(part);
    if (!dimension)
      return std::move(dimension).error();
    dimensions.push_back(*std::move(dimension));
  }
  return dimensions;
}

Result<uint32_t> parse_depth(const std::string& text) {
  auto depth = parse_decimal(text);
  // UINT32_MAX stands for all (pruned()), which is what no --depth gives.
  if (!depth || *depth == 0 || *depth >= UINT32_MAX)
    return errorf("'{}' is not a depth", printable(text));
  return static_cast<uint32_t>(*depth);
}

// Keys that perf sorts by are keys of --by here.
Take sort_order(SortBy& sort) {
  Take take = one_of(
      sort, {{"self", SortBy::kSelf}, {"total", SortBy::kTotal}, {"name", SortBy::kName}});
  // The parser of one_of() is kept, and its error completed: "--sort comm" is a word of
  // perf's.
  take.parse = [parse = take.parse](const std::string& text) {
    std::string wrong = parse(text);
    return wrong.empty() || !parse_dimensions(text)
               ? wrong
               : fmt::format("{}; in gosym: --by {}", wrong, printable(text));
  };
  return take;
}

Option view_option(std::string names, std::string help, View view, ViewOptions& options) {
  return {.names = std::move(names), .help = std::move(help), .take = sets(options.view, view)};
}

// A view of some functions: one option sets the view, and which functions it is of.
Option function_option(std::string names, std::string help, View view, ViewOptions& options) {
  return {.names = std::move(names),
          .value = "RE",
          .help = std::move(help),
          .take = [&options, view](const std::string& text) {
            auto pattern = Pattern::parse(text);
            if (!pattern)
              return pattern.error().message();
            options.view = view;
            options.function = *std::move(pattern);
            return std::string();
          }};
}

}  // namespace

OptionGroup view_options(ViewOptions& options) {
  // Each --by adds its keys: "--by a --by b" is "--by a,b". check_view() counts them when all
  // are known.
  auto take_dimensions = [&options](const std::string& text) {
    auto dimensions = parse_dimensions(text);
    if (!dimensions)
      return dimensions.error().message();
    options.by.insert(options.by.end(), dimensions->begin(), dimensions->end());
    return std::string();
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
        .take = take_dimensions,
        .excludes = {"--callers", "--callees", "--lines"},
        .values = Values::kEach,
        .likely = words_of_names(dimension_names())},
       {.names = "--sort",
        .value = "KEY",
        .help = "Order rows by self, total or name (default: self); keys are for --by",
        .take = sort_order(options.sort)},
       {.names = "--children",
        .help = "The same as --sort total, for compatibility with perf",
        .take = sets(options.sort, SortBy::kTotal)},
       {.names = "--no-children",
        .help = "The same as --sort self",
        .take = sets(options.sort, SortBy::kSelf)},
       {.names = "-n,--show-nr-samples",
        .help = "Add a column with the number of samples",
        .take = into(options.has_counts)},
       {.names = "--top",
        .value = "N",
        .help = "Show N rows, in each group of --by; 0 is all (default: what fits, at most 20)",
        .take = into(options.top, parse_count)},
       {.names = "--min,--percent-limit",
        .value = "PERCENT",
        .help = "Leave calls below PERCENT of all samples out of a tree (default: 1)",
        .take = into(options.least_percent, parse_share)},
       {.names = "--depth",
        .value = "N",
        .help = "Show a tree N calls deep (default: all)",
        .take = into(options.depth, parse_depth)},
       {.names = "--fold-recursion",
        .help = "Show functions that call themselves, or up to 16 that call each other in "
                "turn, once; ×98: the deepest such recursion there has 98 calls",
        .take = into(options.folds_recursion)}}};
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
                  .take = into(patterns, Pattern::parse),
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
       // Without a value the program's own functions are told by where they come from
       // (Selection::mine).
       {.names = "--mine",
        .value = "RE",
        .help = "Remove functions that are not the program's own, or do not match RE",
        .take =
            [&](const std::string& text) {
              selection.is_mine = true;
              // An empty text says that nothing is wrong with the value: --mine alone has no
              // pattern.
              return text.empty() ? text : into(selection.mine, Pattern::parse).parse(text);
            },
        .values = Values::kOptional},
       {.names = "--no-kernel",
        .help = "Remove kernel functions from stacks",
        .take = sets(selection.has_kernel, false)},
       {.names = "--no-inlines",
        .help = "Show inlined calls as part of the function that they were compiled into",
        .take = sets(selection.has_inlines, false)}}};
}

namespace {

// Only one of the forms is written.
std::vector<std::string> other_formats(const Format& one) {
  std::vector<std::string> others = {"--format"};
  for (const Format& format : formats())
    if (!format.help.empty() && format.name != one.name)
      others.push_back(fmt::format("--{}", format.name));
  return others;
}

// --json and the like, and --pprof FILE.
// `format` is a row of formats(), and so outlives the option.
Option format_option(const Format& format, ReportOptions& options) {
  Option option = {.names = fmt::format("--{}", format.name),
                   .help = std::string(format.help),
                   .take = sets(options.format, std::string(format.name)),
                   .excludes = other_formats(format)};
  if (!format.names_file)
    return option;
  option.value = "FILE";
  // It names the file, so that --output would be a second one.
  option.excludes.emplace_back("--output");
  option.take = [&options, &format](const std::string& file) {
    options.format = format.name;
    options.output = file;
    return std::string();
  };
  return option;
}

}  // namespace

OptionGroup output_options(ReportOptions& options) {
  std::vector<Option> all = {{.names = "-f,--format",
                              .value = "FORMAT",
                              .help = fmt::format("Form of the output: {} (default: text)",
                                                  joined(format_names(), ", ")),
                              .take = one_of(options.format, format_names())},
                             {.names = "-o,--output",
                              .value = "FILE",
                              .help = "Write to FILE instead of standard output",
                              .take = into(options.output)}};
  // A format without a help of its own has no such option: --format names it.
  for (const Format& format : formats()) {
    if (!format.help.empty())
      all.push_back(format_option(format, options));
    // Behind the option that it needs, as help lists them.
    if (format.name == "html")
      all.push_back({.names = "--html-source",
                     .help = "Put the source files that have samples into the page",
                     .take = into(options.has_page_sources),
                     .needs = "--html"});
  }
  all.push_back(colour_option(options.colour));
  all.push_back({.names = "--stdio",
                 .help = "Print the report instead of opening the browser",
                 .take = into(options.is_stdio)});
  all.push_back(pager_option(options.has_pager));
  return {"What to write", std::move(all)};
}

// Options that choose samples by the host, service, container or pod that they are of.
std::vector<Option> place_options(ReportOptions& options) {
  Filter& filter = options.filter;
  return {{.names = "--host",
           .value = "NAME",
           .help = "Only recordings of these hosts",
           .take = into(options.recordings.hosts, parse_given),
           .values = Values::kCommaList},
          {.names = "--service",
           .value = "NAME",
           .help = "Only this unit of systemd, such as nginx, or nginx.service",
           .take = into(filter.services, parse_given),
           .values = Values::kCommaList},
          {.names = "--container",
           .value = "ID",
           .help = "Only the container with this id, or one that begins so",
           .take = into(filter.containers, parse_given),
           .values = Values::kCommaList},
          {.names = "--pod",
           .value = "UID",
           .help = "Only the pod of Kubernetes with this uid, or one that begins so",
           .take = into(filter.pods, parse_given),
           .values = Values::kCommaList}};
}

OptionGroup filter_options(ReportOptions& options) {
  Filter& filter = options.filter;
  // Both are told by one clock: -10m is the same moment to each.
  auto parse_when = [now =
                         clock_ns(CLOCK_REALTIME)](const std::string& text) -> Result<Moment> {
    auto time = parse_moment(text, now);
    if (!time)
      return errorf("'{}' is not a time such as 14:02, 2026-11-22T14:02 or -10m",
                    printable(text));
    return Moment{text, *time};
  };
  OptionGroup group = {
      "Select samples",
      {{.names = "--event",
        .value = "NAME",
        .help = "Only samples of this event, if there are several",
        .take = into(options.event, parse_given),
        .likely = event_type_names()},
       {.names = "--pid",
        .value = "PID",
        .help = "Only these processes, such as 1,2; may be repeated",
        .take = into(filter.pids, parse_process_id),
        .values = Values::kCommaList},
       {.names = "--tid",
        .value = "TID",
        .help = "Only these threads",
        .take = into(filter.tids, parse_thread_id),
        .values = Values::kCommaList},
       {.names = "-c,--comm",
        .value = "NAME",
        .help = "Only threads, or processes, with this name",
        .take = into(filter.comms),
        .values = Values::kCommaList},
       {.names = "--cgroup",
        .value = "PATH|ID",
        .help = "Only this cgroup and those below it, or the container with this id",
        .take = into(filter.cgroups, parse_given),
        .values = Values::kCommaList},
       {.names = "--label",
        .value = "KEY=VALUE",
        .help = "Only goroutines with this label (set through runtime/pprof)",
        .take = into(filter.labels, parse_label),
        .values = Values::kEach},
       {.names = "--time",
        .value = "A,B",
        .help = "Only from A to B, in seconds from the start; either may be empty",
        .take = into(filter.time, parse_time_range)},
       {.names = "--since",
        .value = "WHEN",
        .help = "Only from then on, as clocks had it: 14:02, 2026-11-22T14:02, -10m; with "
                "a Z of UTC",
        .take = into(options.since, parse_when),
        .excludes = {"--time", "--align"},
        .likely = {"-10m", "-1h"}},
       {.names = "--until",
        .value = "WHEN",
        .help = "Only up to then",
        .take = into(options.until, parse_when),
        .excludes = {"--time", "--align"}},
       {.names = "--align",
        .help = "Let the recordings of several hosts begin together",
        .take = into(options.is_aligned)}}};
  // Behind the other filters, but for --align, which is no filter.
  std::vector<Option> places = place_options(options);
  group.options.insert(group.options.end() - 1, places.begin(), places.end());
  return group;
}

Result<> set_span(ReportOptions& options) {
  // Without one of them the span is open there: since 0, until UINT64_MAX.
  if (options.since.time >= options.until.time)
    return errorf("--since {} is not before --until {}", options.since.text, options.until.text)
        .with_exit_status(kUsage);
  options.recordings.span = {options.since.time, options.until.time};
  return Ok{};
}

OptionGroup naming_options(ReportOptions& options) {
  return {"How to name functions",
          {name_option(options.name_form),
           {.names = "--wrappers",
            .help = "Keep the wrapper functions that Go's own tracebacks leave out",
            .take = into(options.keeps_wrappers)},
           {.names = "--source",
            .value = "DIR",
            .help = "Look for source files below DIR first, by the ends of their paths",
            .take = into(options.source_directory)},
           {.names = "--goid",
            .help = "Add the goroutine id to each sample (pprof only)",
            .take = into(options.has_goids)}}};
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

// Options that only `report` has are put behind those of the groups that others share.
std::vector<OptionGroup> report_options(ReportOptions& options) {
  OptionGroup rest = {
      "Other options",
      {{.names = "-i,--input,FILE",
        .value = "FILE",
        .help = "Recordings to read, directories of them, perf.data, pprof profiles or folded "
                "text, or - for standard input (default: cpu.raw)",
        .take = into(options.inputs),
        .values = Values::kFiles},
       {.names = "--needs",
        .help = "List the files whose code has no names, and their packages, and nothing else",
        .take = into(options.has_needs)},
       {.names = "--strict",
        .help = "Exit with status 3 if the recording is damaged or truncated",
        .take = into(options.is_strict)},
       loss_option(options.max_loss),
       jobs_option(options.jobs),
       {.names = "-v,--verbose",
        .help = "Print more detail",
        .take = into(options.is_verbose),
        .excludes = {"--quiet"}},
       {.names = "-q,--quiet",
        .help = "Print no warnings and no notes",
        .take = into(options.is_quiet)}}};
  OptionGroup filters = filter_options(options);
  filters.options.push_back(
      {.names = "--side",
       .value = "SIDE",
       .help = "Of a page that gosym diff made, what was before, or what came after",
       .take = one_of(options.side, {{"before", Side::kBefore}, {"after", Side::kAfter}})});
  OptionGroup selection = selection_options(options.selection);
  selection.options.push_back(
      {.names = "--creators",
       .help = "Root the stacks of goroutines at where these were created",
       .take = into(options.has_creators)});
  selection.options.push_back(
      {.names = "--charge-gc",
       .help = "Charge Go's garbage collection to the stacks that allocate: an estimate",
       .take = into(options.charges_collector)});
  selection.options.push_back(
      {.names = "--idle",
       .help = "Show waits of idle threads of Go's runtime with the others",
       .take = into(options.has_idle)});
  return {view_options(options.view),
          std::move(filters),
          std::move(selection),
          output_options(options),
          naming_options(options),
          debug_options(options.debug),
          std::move(rest)};
}

}  // namespace gosym
