#include "output/difference_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "output/json.h"
#include "output/notes.h"
#include "output/table.h"
#include "output/text.h"
#include "output/tree.h"

// A Difference has rates and verdicts; here they become words and columns. Text and Markdown
// have a header of notes above a table, pages the notes alone with the rows that changed, JSON
// all numbers (gosym-formats(5)). All forms but JSON word the verdict of a row by
// verdict_text().
namespace gosym {

namespace {

constexpr size_t kDefaultDifferences = 20;
constexpr size_t kMarkdownDifferences = 10;
constexpr double kNoDigitsFrom = 9.95;  // percent: "12 %", "1.2 %"

// The unit of rates: per cent, milliseconds a second, or seconds a run.
struct RateUnit {
  double size;  // in units of Rate::value
  std::string_view name;
};

RateUnit unit_of(const Difference& difference) {
  if (difference.options.per == Per::kShare)
    return {0.01, "%"};
  bool is_run = difference.options.per == Per::kRun;
  if (!difference.measures_time)
    return {1, is_run ? "" : "/s"};
  if (!is_run)
    return {1e6, "ms/s"};
  // Seconds or milliseconds for the whole table, so that its columns compare. Rates are in
  // nanoseconds: 1e9 of them are a second.
  double most = 0;
  for (const DifferenceRow& row : difference.rows)
    most = std::max({most, row.before.value, row.after.value});
  return most < 1e9 ? RateUnit{1e6, "ms"} : RateUnit{1e9, "s"};
}

std::string percent_text(double share) {
  double percent = 100 * std::abs(share);
  return fmt::format("{:.{}f} %", percent, percent < kNoDigitsFrom ? 1 : 0);
}

// Above that a percentage is harder to read than a factor.
std::string relative_text(const DifferenceRow& row) {
  constexpr double kTimesFrom = 10;
  // Without a rate on one side there is no ratio; the columns of both sides show it.
  if (row.before.value <= 0 || row.after.value <= 0)
    return {};
  if (row.relative() >= kTimesFrom)
    return fmt::format(", {:.0f} times", row.after.value / row.before.value);
  return fmt::format(", {}{}", row.relative() < 0 ? '-' : '+', percent_text(row.relative()));
}

// Another run may differ by more.
bool is_of_these_only(const Difference& difference) {
  return !difference.options.is_exact && !is_of_programs(difference);
}

// "dearer, +5.2 %", "dearer in this run, +5.2 %", "no difference seen (would see 3.1 %)".
std::string verdict_text(const DifferenceRow& row, const Difference& difference) {
  std::string text(to_string(row.verdict));
  if (row.is_significant())
    return text + (is_of_these_only(difference) ? " in this run" : "") + relative_text(row);
  // In a tree these are on the way to what changed, and names need the room.
  if (row.verdict == Verdict::kSame && row.least_seen > 0 && !difference.tree)
    return fmt::format("{} (would see {})", text, percent_text(row.least_seen));
  return text;
}

Style style_of_verdict(const DifferenceRow& row) {
  switch (row.verdict) {
    case Verdict::kDearer:
    case Verdict::kMore:
      return Style::kHot;
    case Verdict::kCheaper:
    case Verdict::kFewer:
      return Style::kWarm;
    case Verdict::kAsMany:
    case Verdict::kSame:
      return Style::kPlain;
    case Verdict::kUntold:
    case Verdict::kTooFew:
    case Verdict::kTooUneven:
      break;
  }
  return Style::kFaint;
}

// Half of the interval that has the true change, as often as `confidence` says.
double half_interval(const DifferenceRow& row, double confidence) {
  return row.change.freedom > 0
             ? student_limit(1 - confidence, row.change.freedom) * row.change.error
             : 0;
}

// Counts have none.
bool shows_intervals(const Difference& difference) {
  return !difference.options.is_exact;
}

// Counts of one dump a side.
bool is_whole_numbers(const Difference& difference) {
  return difference.options.is_exact && difference.options.per == Per::kRun &&
         difference.blocks_before <= 1 && difference.blocks_after <= 1;
}

bool has_places(const Difference& difference) {
  return difference.options.by.kind == Dimension::Kind::kFunction && !difference.tree;
}

Table::Row table_row(const DifferenceRow& row, const RateUnit& unit,
                     const Difference& difference, std::string_view branches = {}) {
  int digits = is_whole_numbers(difference) ? 0 : 2;
  auto rate = [&](double value) { return fmt::format("{:.{}f}", value / unit.size, digits); };
  std::string note = row.note.empty() ? "" : fmt::format(" ({})", row.note);
  std::string name = fmt::format("{}{}{}", branches, row.name, note);
  double interval = half_interval(row, difference.options.confidence);
  // Cells have the order of the columns of titled_table().
  // The change and its verdict are coloured alike, and the name is faint if the code has none.
  Style style = style_of_verdict(row);
  Table::Row cells = {{rate(row.before.value)},
                      {rate(row.after.value)},
                      {fmt::format("{:+.{}f}", row.change.value / unit.size, digits), style}};
  if (shows_intervals(difference))
    // Without a verdict nothing is known of the variance: "?" instead of an interval of 0.
    cells.push_back({row.verdict == Verdict::kUntold ? "?" : rate(interval)});
  cells.push_back({verdict_text(row, difference), style});
  cells.push_back({std::move(name), row.is_named ? Style::kPlain : Style::kFaint});
  if (has_places(difference))
    cells.push_back({row.place});
  return cells;
}

// Without rows.
Table titled_table(const Difference& difference) {
  RateUnit unit = unit_of(difference);
  auto titled = [&](std::string_view what) {
    return unit.name.empty() ? std::string(what) : fmt::format("{} {}", what, unit.name);
  };
  Table table = {.columns = {{titled("before")}, {titled("after")}, {"change"}}, .rows = {}};
  if (shows_intervals(difference))
    table.columns.push_back({"+-"});
  table.columns.push_back({"verdict"});
  bool is_of_functions = difference.options.by.kind == Dimension::Kind::kFunction;
  table.columns.push_back({to_string(difference.options.by),
                           is_of_functions ? Table::Kind::kFunction : Table::Kind::kName});
  if (has_places(difference))
    table.columns.push_back({"hottest line", Table::Kind::kPath});
  return table;
}

Table difference_table(const Difference& difference, size_t limit) {
  RateUnit unit = unit_of(difference);
  Table table = titled_table(difference);
  for (const DifferenceRow& row :
       std::span(difference.rows).first(std::min(limit, difference.rows.size())))
    table.rows.push_back(table_row(row, unit, difference));
  return table;
}

// The paths to what changed.
Table tree_table(const Difference& difference, const Screen& screen) {
  // Chains are joined after the branches without a change are gone, for only then have most
  // nodes one child.
  Difference changed = with_joined_chains(changed_branches(difference));
  RateUnit unit = unit_of(difference);
  Table table = titled_table(difference);
  for_each_line(*changed.tree, [&](uint32_t node, const std::string& branches) {
    // Rows of the difference are those of the tree's nodes but for the root, which is node 0.
    constexpr size_t kForBranches = 4;  // a quarter of the line
    table.rows.push_back(table_row(changed.rows[node - 1], unit, difference,
                                   cut_branches(branches, screen.width / kForBranches)));
  });
  return table;
}

// A tree has no limit.
Table table_of(const Difference& difference, size_t limit, const Screen& screen) {
  return difference.tree ? tree_table(difference, screen) : difference_table(difference, limit);
}

std::string_view per_text(const DifferenceOptions& options) {
  // Goroutines are counted in dumps, each of which is a recording.
  if (options.is_exact && options.per == Per::kRun)
    return "per dump";
  switch (options.per) {
    case Per::kShare:
      return "share of the whole";
    case Per::kSecond:
      return "per second of recording";
    case Per::kRun:
      break;
  }
  return "per run";
}

std::string blocks_text(size_t count, bool are_runs) {
  return fmt::format("{} {}", count, are_runs ? "recordings" : "blocks of time");
}

// A note on the variance between runs, which the confidence intervals leave out.
void add_runs(const Difference& difference, std::vector<Note>& notes) {
  if (!has_verdicts(difference) || difference.options.is_exact)
    return;
  if (!is_of_programs(difference))
    notes.push_back(
        {"", fmt::format("note: another run of the same program may differ by more than this: "
                         "for a verdict on programs record each side {} times",
                         kManyRuns)});
  else if (std::min(difference.blocks_before, difference.blocks_after) < kManyRuns)
    notes.push_back(
        {"", fmt::format("note: few recordings hardly tell how runs vary: {} of each do",
                         kManyRuns)});
}

// Notes on the comparison: its unit, its blocks, and how sure the answer is.
void add_method(const Difference& difference, std::vector<Note>& notes) {
  const DifferenceOptions& options = difference.options;
  double percent = 100 * options.confidence;
  std::string of_what = difference.tree ? "on its path of calls, with all that it calls"
                        : !options.by.is_of_frames() ? "of samples"
                        : options.is_of_totals       ? "with all that it calls"
                                                     : "by itself";
  std::string compared =
      fmt::format("{} {}, {}", to_string(options.by), of_what, per_text(options));
  // Three cases: sampled amounts with a variance, exact counts, and one file a side, which has
  // no variance to compare a change with.
  bool is_of_chance = has_verdicts(difference) && !options.is_exact;
  if (is_of_chance)
    compared += fmt::format("; +-: {:.4g} % interval of a row, by how {} and {} vary", percent,
                            blocks_text(difference.blocks_before, difference.has_runs_before),
                            blocks_text(difference.blocks_after, difference.has_runs_after));
  notes.push_back({"compared:", std::move(compared)});
  std::string verdicts =
      is_of_chance ? fmt::format(
                         "of two equal {} any of the {} rows is called dearer or cheaper in "
                         "{:.4g} % of comparisons (Holm)",
                         is_of_programs(difference) ? "programs" : "runs",
                         with_commas(difference.compared), 100 - percent)
      : options.is_exact ? "counted, not sampled: any change is one"
                         : "none: nothing in one file tells how much is noise; give several "
                           "files of each side";
  notes.push_back({"verdicts:", std::move(verdicts)});
}

// For a difference that has a `whole`: header_notes() asks first.
std::string whole_text(const Difference& difference) {
  const DifferenceRow& whole = *difference.whole;
  RateUnit unit = unit_of(difference);
  if (difference.options.is_exact)
    return fmt::format("{:+.{}f}{}: {}", whole.change.value / unit.size,
                       is_whole_numbers(difference) ? 0 : 2, unit.name,
                       verdict_text(whole, difference));
  // Without degrees of freedom nothing tells the variance, and there is no interval.
  double interval = half_interval(whole, difference.options.confidence) / unit.size;
  return fmt::format("{:.2f} {} before, {:.2f} after, {:+.2f} +- {}: {}",
                     whole.before.value / unit.size, unit.name, whole.after.value / unit.size,
                     whole.change.value / unit.size,
                     whole.change.freedom > 0 ? fmt::format("{:.2f}", interval) : "?",
                     verdict_text(whole, difference));
}

// "2 dearer, 1 cheaper, of 140 compared by function; most: main.hash, dearer, +45 %".
std::string summary_text(const Difference& difference) {
  if (!has_verdicts(difference))
    return "none: one file of a side does not tell what is more than noise";
  size_t more = 0;
  size_t less = 0;
  // A row with its caller's verdict is no finding of its own.
  for (const DifferenceRow& row : difference.rows)
    if (row.is_significant() && !row.is_as_caller)
      (row.is_more() ? more : less)++;
  std::string compared = fmt::format("of {} compared by {}", with_commas(difference.compared),
                                     to_string(difference.options.by));
  bool is_exact = difference.options.is_exact;
  if (more + less == 0)
    return is_exact ? fmt::format("nothing changed, {}", compared)
                    : fmt::format("nothing changed by more than noise, {}", compared);
  // Rows without a tree are sorted: the first significant one is the one that changed most.
  const DifferenceRow& most = *std::ranges::find_if(
      difference.rows, [](const DifferenceRow& row) { return row.is_significant(); });
  return fmt::format("{} {}, {} {}, {}; {}: {}, {}", more,
                     to_string(is_exact ? Verdict::kMore : Verdict::kDearer), less,
                     to_string(is_exact ? Verdict::kFewer : Verdict::kCheaper), compared,
                     difference.tree ? "such as" : "most", most.name,
                     verdict_text(most, difference));
}

std::vector<Note> header_notes(const Difference& difference, const Profile& before,
                               const Profile& after, bool is_verbose) {
  std::vector<Note> notes = {{"verdict:", summary_text(difference)},
                             {"before:", make_headline(before, Amounts(before))},
                             {"after:", make_headline(after, Amounts(after))}};
  if (difference.whole)
    notes.push_back({"whole:", whole_text(difference)});
  if (is_verbose)
    add_method(difference, notes);
  add_runs(difference, notes);
  return notes;
}

std::string difference_header(const Difference& difference, const Profile& before,
                              const Profile& after, bool is_verbose) {
  constexpr size_t kTitleWidth = 10;
  std::string text;
  for (const Note& note : header_notes(difference, before, after, is_verbose))
    text += line_of(note, kTitleWidth) + '\n';
  return text;
}

void write_rate(JsonWriter& json, std::string_view name, const Rate& rate) {
  json.object(name, [&] {
    json.field("rate", rate.value);
    json.field("standard_error", std::sqrt(rate.variance));
  });
}

// JSON has no infinity: what is not known is left out.
void write_finite(JsonWriter& json, std::string_view name, double value) {
  if (std::isfinite(value))
    json.field(name, value);
}

void write_row(JsonWriter& json, const DifferenceRow& row, double confidence,
               std::optional<uint64_t> parent = {}) {
  json.field("name", row.name);
  if (parent)
    json.field("parent", *parent);
  json.field("verdict", to_string(row.verdict));
  write_rate(json, "before", row.before);
  write_rate(json, "after", row.after);
  json.field("change", row.change.value);
  json.field("interval", half_interval(row, confidence));
  write_finite(json, "relative", row.relative());
  json.field("p", row.change.chance);
  json.field("corrected_p", row.corrected_chance);
  // 0 if the row was not compared, infinity if no change of it would be seen.
  if (row.least_seen > 0)
    write_finite(json, "least_seen", row.least_seen);
  if (!row.note.empty())
    json.field("note", row.note);
  if (!row.place.empty())
    json.field("place", row.place);
}

// Rows of a tree have the number of the row that calls them.
void write_rows(JsonWriter& json, const Difference& difference) {
  // Row i is node i + 1, so that parents are one less, too, and children of the root have
  // none.
  std::vector<uint32_t> parents;
  if (difference.tree)
    parents = parents_of(*difference.tree);
  size_t node = 0;  // the root has no row
  json.array("rows", difference.rows, [&](const DifferenceRow& row) {
    std::optional<uint64_t> parent;
    node++;
    if (!parents.empty() && parents[node] != 0)
      parent = parents[node] - 1;
    json.object([&] { write_row(json, row, difference.options.confidence, parent); });
  });
}

void write_side(JsonWriter& json, std::string_view name, const Profile& profile, size_t blocks,
                bool has_runs) {
  json.object(name, [&] {
    json.field("event", profile.event().name);
    json.field("samples", profile.total_count());
    json.field("value", profile.total_amount() * profile.period());
    json.field("duration_ns", profile.duration_ns);
    json.field("selection", profile.filter);
    json.field("blocks", uint64_t{blocks});
    json.field("blocks_are", has_runs ? "recordings" : "time");
    json.array("files", profile.recordings,
               [&](const ProfiledRecording& one) { json.value(one.name); });
  });
}

}  // namespace

std::string difference_text(const Difference& difference, const Profile& before,
                            const Profile& after, const ViewOptions& options) {
  size_t limit = options.limit(kDefaultDifferences);
  Table table = table_of(difference, limit, options.screen);
  std::string text = difference_header(difference, before, after, options.is_verbose);
  if (!table.rows.empty())
    text += '\n' + text_of(table, options.screen);
  if (limit < difference.rows.size() && !difference.tree)
    text += fmt::format("{} of {} rows; --top 0 shows all\n", limit,
                        with_commas(difference.rows.size()));
  return text;
}

std::string difference_markdown(const Difference& difference, const Profile& before,
                                const Profile& after, const ViewOptions& options) {
  Table table = table_of(difference, options.limit(kMarkdownDifferences), {});
  return fmt::format(
      "```\n{}```\n{}{}", difference_header(difference, before, after, options.is_verbose),
      table.rows.empty() ? "" : "\n", table.rows.empty() ? "" : markdown_of(table));
}

std::vector<Note> difference_notes(const Difference& difference, const Profile& before,
                                   const Profile& after) {
  RateUnit unit = unit_of(difference);
  std::vector<Note> notes = header_notes(difference, before, after, /*is_verbose=*/true);
  for (const DifferenceRow& row : difference.rows)
    if (row.is_significant())
      notes.push_back(
          {verdict_text(row, difference),
           fmt::format("{}: {:.2f} {} before, {:.2f} after{}{}", row.name,
                       row.before.value / unit.size, unit.name, row.after.value / unit.size,
                       row.note.empty() ? "" : "; ", row.note)});
  return notes;
}

std::string difference_json(const Difference& difference, const Profile& before,
                            const Profile& after) {
  constexpr uint32_t kDifferenceVersion = 1;
  const DifferenceOptions& options = difference.options;
  JsonWriter json;
  json.object([&] {
    json.field("version", kDifferenceVersion);
    write_side(json, "before", before, difference.blocks_before, difference.has_runs_before);
    write_side(json, "after", after, difference.blocks_after, difference.has_runs_after);
    json.field("by", to_string(options.by));
    json.field("of", difference.tree ? "path" : options.is_of_totals ? "total" : "self");
    json.field("per", to_string(options.per));
    json.field("unit", difference.measures_time ? "nanoseconds" : "events");
    json.field("confidence", options.confidence);
    json.field("verdicts_are_of", options.is_exact             ? "counts"
                                  : !has_verdicts(difference)  ? "nothing"
                                  : is_of_programs(difference) ? "programs"
                                                               : "recordings");
    json.field("compared", uint64_t{difference.compared});
    if (difference.whole)
      json.object("whole", [&] { write_row(json, *difference.whole, options.confidence); });
    write_rows(json, difference);
  });
  return std::string(json.text()) + '\n';
}

}  // namespace gosym
