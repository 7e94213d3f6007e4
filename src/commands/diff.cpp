#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/load_profile.h"
#include "commands/option_values.h"
#include "commands/report.h"
#include "commands/report_options.h"
#include "commands/terminal.h"
#include "confine/parser.h"
#include "output/difference_text.h"
#include "output/folded.h"
#include "output/html.h"
#include "output/output_file.h"
#include "output/pprof.h"

namespace gosym {

// Both sides are loaded as `gosym report` loads a profile (load_profile.h), by one set of
// options, and compared as view/difference.h says. A side is several recordings, one page has
// both sides, and --spans makes both of the same recordings.

namespace {

// The command line of `gosym diff`. `report` has what both sides have in common; its inputs are
// all files that stand before "--".
struct DiffOptions {
  ReportOptions report;
  std::vector<std::string> after = {};
  std::optional<Per> per = {};            // none: share, and run where amounts are counts
  double confidence = 95;                 // percent
  std::optional<double> fail_above = {};  // percent; none: no change fails
  std::optional<std::pair<Span, Span>> spans = {};  // of the same recordings
  bool is_page = false;                             // one file has both sides
};

// One event is compared, and its functions are called as people call them.
constexpr Format kComparedFormat = {.name = "diff",
                                    .events = EventsWritten::kFirst,
                                    .is_binary = false,
                                    .has_views = true,
                                    .is_for_people = false,
                                    .is_for_tools = false,
                                    .is_whole = false,
                                    .next_command = {},
                                    .write = nullptr};

Error wrong_usage(std::string message) {
  return Error(std::move(message))
      .with_hint(
          "gosym diff before.raw after.raw, or gosym diff a1.raw a2.raw -- b1.raw b2.raw")
      .with_exit_status(kUsage);
}

Result<double> parse_confidence(const std::string& text) {
  auto percent = parse_percent(text);
  if (percent && (*percent < 50 || *percent > 99.99))
    return errorf("'{}' is not from 50 to 99.99", printable(text));
  return percent;
}

// "14:00..14:10,14:20..14:30"
Result<std::pair<Span, Span>> parse_spans(const std::string& text) {
  std::vector<std::string_view> sides = split(text, ',');
  // One clock for both: "-20m..-10m,-10m.." has no gap.
  uint64_t now = clock_ns(CLOCK_REALTIME);
  auto before = parse_span(sides.front(), now);
  auto after = parse_span(sides.back(), now);
  if (sides.size() != 2 || !before || !after)
    return errorf("'{}' is not two spans of time such as 14:00..14:10,14:20..14:30",
                  printable(text));
  return std::pair(*before, *after);
}

// Files before "--" are BEFORE, and those behind it AFTER; without it there are two, or a page
// that compares two sides, which is both.
Result<> split_inputs(DiffOptions& options) {
  std::vector<std::string>& before = options.report.inputs;
  if (options.spans) {
    if (!options.after.empty() || before.empty())
      return wrong_usage("--spans is of one side: the same recordings are both");
    options.after = before;
    return Ok{};
  }
  // One file can only be a page with two sides; load_side() says so if it is not.
  if (options.after.empty() && before.size() == 1) {
    options.is_page = true;
    options.after = before;
  } else if (options.after.empty()) {
    if (before.size() != 2)
      return wrong_usage(before.size() > 2
                             ? "more than two files: '--' stands between BEFORE and AFTER"
                             : "two files are compared: BEFORE and AFTER");
    options.after = {before.back()};
    before.pop_back();
  }
  if (before.empty())
    return wrong_usage("there is no file before '--'");
  return Ok{};
}

// Words behind "--" are the second side.
void understand_two_sides(std::vector<std::string>& line) {
  // The library of the command line would take "--" for the end of all options.
  auto dashes = std::ranges::find(line, "--");
  if (dashes != line.end())
    *dashes = "--after";
}

Result<> check_by(const DiffOptions& options) {
  const std::vector<Dimension>& by = options.report.view.by;
  if (by.size() > 1)
    return Error("--by: diff compares by one key only").with_exit_status(kUsage);
  if (!by.empty() && !by[0].is_comparable())
    return errorf("--by: nothing has the same {} before and after", to_string(by[0]))
        .with_exit_status(kUsage);
  if (!by.empty() && options.report.view.view == View::kTree && !by[0].is_of_frames())
    return errorf(
               "--tree: calls have no {}: compare them by function, package, module or the "
               "like",
               to_string(by[0]))
        .with_exit_status(kUsage);
  return Ok{};
}

// The files of a span are parts of one run: what they vary by is not how runs vary.
void join_recordings(Profile& profile) {
  // From the first begin to the last end: they are in order of their begins (read_inputs()).
  ProfiledRecording& all = profile.recordings.front();
  for (const ProfiledRecording& one : profile.recordings) {
    uint64_t offset = one.start_realtime_ns - all.start_realtime_ns;
    all.duration_ns = std::max(all.duration_ns, offset + one.duration_ns);
  }
  profile.recordings.resize(1);
  for (SampleCount& sample : profile.samples)
    profile.change_owner(sample, [](Owner& owner) { owner.recording = 0; });
}

// Files that cannot be used are told apart from a change that was found.
Result<LoadedProfile> load_side(const DiffOptions& options,
                                const std::vector<std::string>& inputs, Side which,
                                const DebugFileOptions& files) {
  ReportOptions side = options.report;
  if (options.is_page)
    side.side = which;
  side.inputs = inputs;
  if (options.spans)
    side.recordings.span =
        which == Side::kBefore ? options.spans->first : options.spans->second;
  side.is_compared = true;
  Format format = kComparedFormat;
  // pprof gets the linker's names, people short ones.
  format.is_for_tools = side.format == "pprof";
  auto loaded = load_profile(side, format, files);
  if (loaded && options.spans)
    join_recordings(loaded->profile);
  if (loaded)
    return loaded;
  Error error = std::move(loaded).error();
  // A page with one side is refused as wrong usage, in this command's own words.
  if (options.is_page && error.exit_status() == kUsage)
    return wrong_usage(error.message());
  // Status 1 says that something became dearer: files that cannot be read are 3.
  return error.exit_status() == kUsage ? std::move(error)
                                       : std::move(error).with_exit_status(kPartial);
}

// "a recording": `source` is empty for one of gosym, and names what others are.
std::string kind_of(const Profile& profile) {
  return profile.info.source.empty() ? "a recording" : profile.info.source;
}

Result<> check_comparable(const Profile& before, const Profile& after, Per per) {
  if (kind_of(before) != kind_of(after))
    return errorf("{} and {} do not compare: their samples are counted in other ways",
                  kind_of(before), kind_of(after))
        .with_hint("gosym report --pprof FILE, or --folded, makes both of one kind")
        .with_exit_status(kUsage);
  for (const Profile* side : {&before, &after})
    if (per == Per::kSecond && side->duration_ns == 0)
      return errorf("--per second: {} does not tell how long it took", kind_of(*side))
          .with_exit_status(kUsage);
  if (before.event().name == after.event().name &&
      before.measures_time() == after.measures_time())
    return Ok{};
  // No wrong use: the files decide it. Status 1 would say that something became dearer.
  return errorf("samples of {} do not compare with samples of {}",
                printable(before.event().name), printable(after.event().name))
      .with_exit_status(kPartial);
}

// `is_exact` if both sides are counted.
DifferenceOptions difference_options(const DiffOptions& options, bool is_exact) {
  const ViewOptions& view = options.report.view;
  constexpr double kPercent = 100;
  return {.by = view.by.empty() ? Dimension() : view.by.front(),
          .per = options.per.value_or(is_exact ? Per::kRun : Per::kShare),
          .is_of_totals = view.sort == SortBy::kTotal,
          .confidence = options.confidence / kPercent,
          .is_exact = is_exact};
}

Difference compare(const ComparedProfile& before, const ComparedProfile& after,
                   const DifferenceOptions& options, const ViewOptions& view) {
  if (view.view == View::kTree)
    return difference_tree(before, after, options,
                           {.least_percent = view.least_percent, .depth = view.depth});
  return difference(before, after, options);
}

// True if something became dearer by more than --fail-above allows: the whole, or what has at
// least a hundredth of it.
Result<bool> is_failure(const Difference& difference, std::optional<double> fail_above) {
  if (!fail_above)
    return false;
  if (!has_verdicts(difference))
    return Error("--fail-above: one file of a side does not tell what is more than noise")
        .with_hint("give several files of each side, with '--' between the sides")
        .with_exit_status(kUsage);
  // Verdicts of single runs are right of those runs, and would fail builds of equal programs.
  if (!difference.options.is_exact && !is_of_programs(difference))
    return errorf(
               "--fail-above needs at least {} recordings of each side, to know how much runs "
               "vary",
               kManyRuns)
        .with_hint("equal programs would fail as well: record each several times, alternating")
        .with_exit_status(kUsage);
  double limit = *fail_above / 100;
  constexpr double kLeastPart = 0.01;
  auto is_too_dear = [&](const DifferenceRow& row) {
    return row.is_more() && row.relative() > limit;
  };
  if (difference.whole && is_too_dear(*difference.whole))
    return true;
  // Rows are measured by the whole, which is 1 if they are shares.
  double before = difference.whole ? difference.whole->before.value : 1;
  double after = difference.whole ? difference.whole->after.value : 1;
  return std::ranges::any_of(difference.rows, [&](const DifferenceRow& row) {
    return is_too_dear(row) &&
           (row.before.value >= kLeastPart * before || row.after.value >= kLeastPart * after);
  });
}

// All stacks of both sides. Which of them differ by more than noise only the page tells.
Result<> write_stacks(const Difference& difference, const ComparedProfile& before,
                      const ComparedProfile& after, const ReportOptions& options) {
  // The file may be read by those who may read both. The larger of two Readers is the stricter
  // one.
  Readers readers = std::max(readers_of(options.format, before.profile),
                             readers_of(options.format, after.profile));
  auto file = OutputFile::open(options.output, readers);
  if (!file)
    return std::move(file).error();
  double scale = scale_of(before, after, difference.options.per);
  auto write = [&](std::string_view data) { return file->write(data); };
  if (options.format == "pprof")
    write_pprof_difference(before.profile, after.profile, scale, write);
  else if (options.format == "html")
    write_html_difference(difference, before, after, write);
  else
    write_folded_difference(before.profile, after.profile, scale, write);
  return file->finish();
}

Result<> write_difference(const Difference& difference, const Profile& before,
                          const Profile& after, const ReportOptions& options) {
  ViewOptions view = options.view;
  view.screen = options.output == "-"
                    ? standard_output(options.colour)
                    : Screen{.has_colour = options.colour == ColourMode::kAlways};
  std::string text =
      options.format == "json" ? difference_json(difference, before, after)
      : options.format == "md"
          ? difference_markdown(difference, before, after, view)
          : on_screen(difference_text(difference, before, after, view), view.screen);
  if (options.format == "text" && options.output == "-" && view.screen.has_width() &&
      options.has_pager && show_in_pager(text, view.screen))
    return Ok{};
  auto file = OutputFile::open(options.output);
  if (!file)
    return std::move(file).error();
  file->write(text);
  return file->finish();
}

Result<int> run_diff(DiffOptions& options) {
  if (auto checked = split_inputs(options); !checked)
    return std::move(checked).error();
  if (auto checked = check_by(options); !checked)
    return std::move(checked).error();
  ReportOptions& report = options.report;
  if (auto understood = set_span(report); !understood)
    return std::move(understood).error();
  // Paths, debug files and the running kernel are found while the process may still look for
  // them; it parses in a child that may not.
  auto files = find_files_of_profile(report.debug, report.is_quiet ? nullptr : stderr);
  if (!files)
    return std::move(files).error();
  std::vector<std::string> inputs = report.inputs;
  inputs.insert(inputs.end(), options.after.begin(), options.after.end());
  files->stores = stores_beside(inputs);
  auto confined =
      become_parser({.inputs = inputs, .roots = roots_of(*files), .outputs = {report.output}},
                    pager_command());
  if (!confined)
    return std::move(confined).error();
  auto before = load_side(options, report.inputs, Side::kBefore, *files);
  if (!before)
    return std::move(before).error();
  auto after = load_side(options, options.after, Side::kAfter, *files);
  if (!after)
    return std::move(after).error();
  // Exact if both sides are counts: a sampled one varies by chance.
  DifferenceOptions compared = difference_options(
      options, is_counted(before->profile.event()) && is_counted(after->profile.event()));
  if (auto checked = check_comparable(before->profile, after->profile, compared.per); !checked)
    return std::move(checked).error();

  const ComparedProfile sides[] = {{before->profile, before->time},
                                   {after->profile, after->time}};
  Difference found = compare(sides[0], sides[1], compared, report.view);
  bool is_of_stacks =
      report.format == "folded" || report.format == "pprof" || report.format == "html";
  auto written = is_of_stacks
                     ? write_stacks(found, sides[0], sides[1], report)
                     : write_difference(found, before->profile, after->profile, report);
  if (!written)
    return std::move(written).error().with_exit_status(kPartial);
  // Notes come last, where they are still on the screen.
  for (const LoadedProfile* side : {&*before, &*after}) {
    tell_loss(side->profile.stats, report);
    tell_problems(side->symbols, report);
  }
  auto is_too_dear = is_failure(found, options.fail_above);
  if (!is_too_dear)
    return std::move(is_too_dear).error();
  return *is_too_dear ? kFailure : kSuccess;
}

// "-g,--tree" is meant by either of its names.
bool is_meant(const Option& option, std::string_view name) {
  return option.names == name || option.names.ends_with(fmt::format(",{}", name)) ||
         option.names.starts_with(fmt::format("{},", name));
}

// Keeps those options of `report` that a comparison has, too.
OptionGroup only(OptionGroup group, std::initializer_list<std::string_view> names) {
  std::erase_if(group.options, [&](const Option& option) {
    return std::ranges::none_of(names,
                                [&](std::string_view name) { return is_meant(option, name); });
  });
  for (Option& option : group.options)
    // An option may only exclude those that are there.
    std::erase_if(option.excludes, [&](const std::string& other) {
      return std::ranges::none_of(group.options,
                                  [&](const Option& one) { return is_meant(one, other); });
    });
  return group;
}

// The option has to be there: only() has kept it.
Option& find(OptionGroup& group, std::string_view name) {
  return *std::ranges::find_if(
      group.options, [&](const Option& option) { return option.names.ends_with(name); });
}

void explain(OptionGroup& group, std::string_view name, std::string help) {
  find(group, name).help = std::move(help);
}

// Options of report's views, some with another text. A tree excludes what is of rows alone:
// their order, their number, and formats that have all stacks.
OptionGroup comparison_options(DiffOptions& options) {
  OptionGroup group =
      only(view_options(options.report.view),
           {"--tree", "--by", "--sort", "--children", "--top", "--min", "--depth"});
  group.title = "What to compare";
  Option& tree = find(group, "--tree");
  tree.help = "Compare each path of calls, and show those to what changed";
  tree.excludes = {"--sort", "--children", "--top", "--folded", "--pprof", "--html"};
  find(group, "--by").value = "KEY";
  find(group, "--by").likely = words_of_names(comparable_dimension_names());
  explain(
      group, "--by",
      fmt::format("Compare by one of {} (default: function)", comparable_dimension_names()));
  explain(group, "--sort", "Compare self time or total time (default: self)");
  explain(group, "--top", "Show this many rows; 0 for all (default: 20, and 10 of Markdown)");
  group.options.push_back(
      {.names = "--per",
       .value = "WHAT",
       .help = "Compare shares of the whole (share, the default), time per second recorded "
               "(second: for equal load), or time per recording (run: for equal work, and of "
               "dumps of goroutines)",
       .take = one_of(options.per,
                      {{"share", Per::kShare}, {"second", Per::kSecond}, {"run", Per::kRun}})});
  group.options.push_back({.names = "--confidence",
                           .value = "PERCENT",
                           .help = "Confidence of intervals and verdicts (default: 95)",
                           .take = into(options.confidence, parse_confidence)});
  group.options.push_back({.names = "--fail-above",
                           .value = "PERCENT",
                           .help = "Exit with status 1 if the whole, or anything of at least 1 "
                                   "% of it, became significantly dearer by more",
                           .take = into(options.fail_above, parse_percent)});
  return group;
}

OptionGroup comparison_outputs(DiffOptions& options) {
  OptionGroup group = only(
      output_options(options.report),
      {"--output", "--json", "--md", "--folded", "--pprof", "--html", "--color", "--no-pager"});
  explain(group, "--html",
          "Write a page for a browser: flame graph and table, coloured by what changed");
  return group;
}

std::vector<OptionGroup> diff_options(DiffOptions& options) {
  ReportOptions& report = options.report;
  return {
      comparison_options(options),
      filter_options(report),
      selection_options(report.selection),
      comparison_outputs(options),
      only(naming_options(report), {"--demangle", "--wrappers"}),
      debug_options(report.debug),
      {"Other options",
       {{.names = "FILE",
         .help = "Recordings, directories of them, perf.data, pprof profiles or folded text: "
                 "BEFORE and AFTER, or several of each with -- between them",
         .take = into(report.inputs),
         .values = Values::kFiles},
        {.names = "--after",
         .value = "FILE",
         .help = "The second side; the same as --",
         .take = into(options.after),
         .values = Values::kFiles},
        {.names = "--spans",
         .value = "A..B,C..D",
         .help = "Compare two spans of time of the same recordings, such as of a directory: "
                 "14:00..14:10,14:20..14:30",
         .take = into(options.spans, parse_spans),
         .excludes = {"--time", "--since", "--until", "--after", "--align"}},
        jobs_option(report.jobs),
        {.names = "-v,--verbose",
         .help = "Tell how it was compared, and how sure that is",
         .take = into(report.view.is_verbose),
         .excludes = {"--quiet"}},
        {.names = "-q,--quiet",
         .help = "Print no warnings and no notes",
         .take = into(report.is_quiet)}}}};
}

}  // namespace

Command make_diff() {
  auto options = std::make_shared<DiffOptions>();
  return {.name = "diff",
          .summary = "Tell what changed between two recordings",
          .usage = "[OPTIONS] BEFORE AFTER | BEFORE... -- AFTER... | PAGE",
          .groups = diff_options(*options),
          .examples =
              "  gosym diff before.raw after.raw           functions, by their share\n"
              "  gosym diff --per run old/ new/            the same work, several times\n"
              "  gosym diff a1.raw a2.raw -- b1.raw b2.raw\n"
              "  gosym diff --by package --children before.raw after.raw\n"
              "  gosym diff --tree old/ new/               where in the call tree it is\n"
              "  gosym diff /var/lib/gosym --spans 14:00..14:10,14:20..14:30\n"
              "  gosym diff --fail-above 5 --confidence 99 --md old/ new/\n"
              "  gosym diff --html diff.html before.raw after.raw\n"
              "  gosym diff diff.html                      the same comparison, of the page\n"
              "  gosym diff --folded before.raw after.raw | flamegraph.pl > diff.svg\n"
              "  gosym diff before.pb.gz after.pb.gz       pprof profiles, or folded text\n",
          .rewrite = understand_two_sides,
          .run = [options] { return run_diff(*options); }};
}

}  // namespace gosym
