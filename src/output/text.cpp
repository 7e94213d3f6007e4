#include "output/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/percent.h"
#include "base/text.h"
#include "output/document.h"
#include "view/call_tree.h"
#include "view/frame_keys.h"
#include "view/totals.h"

// Each form of a report is made in two steps. A *_document() function decides what is shown,
// text for a terminal, a message, or all of it for programs: rows of a table, a tree, notes
// (document.h). A make_*() function then writes that. The table is one of lines, each with a
// name and amounts; with several dimensions, rows lie within each other (append_nested()).
namespace gosym {

namespace {

constexpr double kPercent = 100;
constexpr size_t kDefaultRows = 20;
constexpr size_t kDefaultInnerRows = 5;  // within each row of the outer of two dimensions
constexpr size_t kDefaultPaths = 12;     // nodes of the tree below the table

// One line of a table: a function, a process, ...
struct Line {
  std::string name;
  std::string place = {};
  // In columns of its own, as titles of the table have them: the program that has most of it,
  // ...
  std::vector<std::string> texts = {};
  uint64_t self = 0;
  uint64_t total = 0;
  uint64_t samples = 0;  // that are its own
  Style style = Style::kPlain;
  KeyId key = {};    // of rows that others are within
  KeyId frame = {};  // of rows of functions
  std::string waited_in = {};
  uint32_t node = 0;  // number of the nested total that it shows
};

// The line where it is hottest; without lines, the image, of which readers need no directories;
// for code of no file, nothing.
std::string place_of(const Profile& profile, const ViewKey& key, const Total& total,
                     bool has_directories) {
  if (std::string line = hottest_line(profile, total); !line.empty())
    return line;
  const ProfileImage& image = profile.images[key.image];
  if (image.kind == ProfileImage::Kind::kAnonymous)
    return {};
  return printable(has_directories ? std::string_view(image.file.path)
                                   : base_name(image.file.path));
}

void sort_lines(std::vector<Line>& lines, SortBy sort) {
  std::ranges::stable_sort(lines, [&](const Line& a, const Line& b) {
    if (sort == SortBy::kName)
      return a.name < b.name;
    if (sort == SortBy::kTotal)
      // The amounts are swapped, so that the largest comes first. Equal ones keep the order of
      // the totals.
      return std::tuple(b.total, b.self) < std::tuple(a.total, a.self);
    return std::tuple(b.self, b.total) < std::tuple(a.self, a.total);
  });
}

// `is_flat`: for programs, with directories of images without lines.
std::vector<Line> lines_of_frames(const Profile& profile, const FrameKeys& keys,
                                  std::span<const SampleCount> samples, bool is_flat) {
  std::vector<Line> lines;
  // Programs get the charge that other tools have; people are shown what waited, not the
  // kernel's code for waiting.
  Charge charge = is_flat ? Charge::kInnermost : charge_for_people(profile);
  for (const Total& total : frame_totals(profile, samples, keys, charge)) {
    const ViewKey& key = keys[total.key];
    lines.push_back({.name = key.text,
                     .place = keys.has_places() ? place_of(profile, key, total, is_flat) : "",
                     .self = total.self,
                     .total = total.total,
                     .samples = total.samples,
                     .style = style_of(key),
                     .frame = total.key,
                     .waited_in = total.waited_in ? keys[*total.waited_in].text : ""});
  }
  return lines;
}

// `samples` are numbers in Profile::samples. Each is wholly of one key, and so self and total
// are equal.
std::vector<Line> lines_of_samples(const Profile& profile, const SampleKeys& keys,
                                   std::span<const uint32_t> samples) {
  std::vector<Line> lines(keys.keys.size());
  for (size_t i = 0; i < lines.size(); i++)
    lines[i].name = keys.keys[i].text;
  for (uint32_t sample : samples) {
    uint64_t amount = profile.amount(profile.samples[sample]);
    Line& line = lines[to_index(keys.ids[sample])];
    line.self += amount;
    line.total += amount;
    line.samples += profile.samples[sample].count;
  }
  // Keys are those of all samples, of which this row may have few.
  std::erase_if(lines, [](const Line& line) { return line.total == 0; });
  return lines;
}

// Samples of these numbers.
std::vector<SampleCount> these_samples(const Profile& profile,
                                       const std::vector<uint32_t>& numbers) {
  std::vector<SampleCount> some;
  for (uint32_t number : numbers)
    some.push_back(profile.samples[number]);
  return some;
}

// Steps of time and CPUs have an order of their own.
SortBy order_of(const Dimension& dimension, SortBy sort) {
  using Kind = Dimension::Kind;
  return dimension.kind == Kind::kTime || dimension.kind == Kind::kCpu ? SortBy::kName : sort;
}

// The rows of one dimension, of all samples or of some of them.
class DimensionRows {
public:
  DimensionRows(const Profile& profile, const Dimension& dimension, bool is_flat)
      : profile_(profile), dimension_(dimension), is_flat_(is_flat) {
    if (dimension.is_of_frames())
      frames_.emplace(profile, dimension.kind);
    else
      samples_ = sample_keys(profile, profile.samples, dimension);
  }

  std::vector<Line> of(const std::vector<uint32_t>& samples, SortBy sort) const {
    std::vector<Line> lines;
    // Keys of samples are numbered once for all samples; totals of frames have to be counted
    // for just these.
    if (samples_) {
      lines = lines_of_samples(profile_, *samples_, samples);
    } else {
      lines = lines_of_frames(profile_, *frames_, these_samples(profile_, samples), is_flat_);
    }
    sort_lines(lines, order_of(dimension_, sort));
    return lines;
  }

  // programs_of_keys() of all samples; empty where rows are made of samples.
  std::vector<std::string> programs() const {
    return frames_ ? programs_of_keys(profile_, profile_.samples, *frames_)
                   : std::vector<std::string>();
  }

private:
  const Profile& profile_;
  Dimension dimension_;
  bool is_flat_;                     // for programs
  std::optional<FrameKeys> frames_;  // or else:
  std::optional<SampleKeys> samples_;
};

std::vector<uint32_t> all_samples(const Profile& profile) {
  std::vector<uint32_t> samples(profile.samples.size());
  for (size_t i = 0; i < samples.size(); i++)
    samples[i] = static_cast<uint32_t>(i);
  return samples;
}

std::vector<std::string> titles_of_dimensions(const ViewOptions& options) {
  std::vector<std::string> titles;
  for (const Dimension& dimension : options.by)
    titles.push_back(printable(to_string(dimension)));
  if (titles.empty())
    titles.emplace_back("function");
  return titles;
}

// The column with the number of samples, which a table has if that was asked for.
constexpr std::string_view kCountTitle = "samples";
constexpr size_t kCountColumn = 2;

Table empty_table(const Amounts& amounts, const std::vector<std::string>& name_titles,
                  bool has_places, bool has_counts,
                  const std::vector<Table::Column>& beside = {}) {
  Table table;
  table.columns = {
      {"self %"}, {title_of("self", amounts)}, {"total %"}, {title_of("total", amounts)}};
  if (has_counts)
    // Behind both columns of the row's own amounts, of which it is the number.
    table.columns.insert(table.columns.begin() + kCountColumn, {std::string(kCountTitle)});
  for (const std::string& title : name_titles)
    table.columns.push_back(
        // Titles of several dimensions are joined: the last one tells the kind of the names.
        {title, title.ends_with("function") ? Table::Kind::kFunction : Table::Kind::kName});
  table.columns.insert(table.columns.end(), beside.begin(), beside.end());
  if (has_places)
    table.columns.push_back({"hottest line", Table::Kind::kPath});
  return table;
}

// `outer` is what the row is within, where that has columns of its own.
void append_row(const Line& line, const Amounts& amounts, Table& table,
                std::span<const std::string> outer = {}) {
  double self = amounts.percent(line.self);
  double total = amounts.percent(line.total);
  Table::Row row = {{amounts.percent_text(line.self), heat_of(self)},
                    {amounts.text(line.self)},
                    {amounts.percent_text(line.total), heat_of(total)},
                    {amounts.text(line.total)}};
  // Table has no columns of numbers that may be absent, so its title tells whether it has them.
  if (table.columns[kCountColumn].title == kCountTitle)
    row.insert(row.begin() + kCountColumn, {std::to_string(line.samples)});
  for (const std::string& name : outer)
    row.push_back({name});
  row.push_back({line.name, line.style});
  for (const std::string& text : line.texts)
    row.push_back({text});
  if (table.columns.back().kind == Table::Kind::kPath)
    row.push_back({line.place});
  table.rows.push_back(std::move(row));
}

bool has_places(const ViewOptions& options) {
  using Kind = Dimension::Kind;
  return options.by.empty() || std::ranges::any_of(options.by, [](const Dimension& dimension) {
           return dimension.kind == Kind::kFunction;
         });
}

struct Limits {
  size_t outer;  // rows of the first dimension
  size_t inner;  // rows within a row
};

// Shared by tables within each other: the keys of each dimension are made once.
struct Nesting {
  const Profile& profile;
  const ViewOptions& options;
  const Amounts& amounts;
  Limits limits;
  bool is_flat;  // only innermost rows, with all keys that they are within
  std::vector<SampleKeys> outer = {};  // of the first dimensions, that samples are grouped by
  // The others: the last one, or several that all are of frames.
  std::optional<DimensionRows> inner = {};
  std::vector<FrameKeys> frames = {};
};

// The last dimensions that are of frames, such as package and function, say of each frame what
// it is; those before them, whose samples these are.
size_t first_of_frames(const std::vector<Dimension>& by) {
  size_t first = by.size();
  while (first > 0 && by[first - 1].is_of_frames())
    first--;
  return by.size() - first > 1 ? first : by.size() - 1;
}

// A row within those of `path`: indented below them, or with them in columns of its own, and
// then only if it is an innermost one.
void append_row_within(const Nesting& nesting, const Line& line,
                       std::span<const std::string> path, bool is_innermost, Table& table) {
  if (nesting.is_flat) {
    if (is_innermost)
      append_row(line, nesting.amounts, table, path);
    return;
  }
  Line indented = line;
  indented.name.insert(0, 2 * path.size(), ' ');
  append_row(indented, nesting.amounts, table);
}

// Rows within each other of nested totals.
class FrameRows {
public:
  FrameRows(const Nesting& nesting, const std::vector<uint32_t>& samples) : nesting_(nesting) {
    // Totals are made for these samples alone; keys, and so `frames`, are those of the whole
    // profile.
    std::vector<SampleCount> some = these_samples(nesting.profile, samples);
    totals_ = nested_totals(nesting.profile, some, nesting.frames);
    within_.resize(totals_.size() + 1);
    for (uint32_t i = 0; i < totals_.size(); i++)
      within_[totals_[i].parent + 1].push_back(i);  // NestedTotal::kNoParent + 1 is 0
    // Places are those of the last dimension alone: a package has no hottest line.
    const FrameKeys& innermost = nesting.frames.back();
    if (innermost.has_places())
      for (const Total& total : frame_totals(nesting.profile, some, innermost))
        places_[total.key] =
            place_of(nesting.profile, innermost[total.key], total, nesting.is_flat);
  }

  // Appends rows of the totals within `parent`, keys of dimension `depth`, each with those
  // within it. Returns how many rows of this dimension there would be without a limit.
  size_t append(uint32_t parent, size_t depth, std::vector<std::string>& path,
                Table& table) const {
    std::vector<Line> lines = lines_of(parent, depth);
    size_t limit = path.empty() ? nesting_.limits.outer : nesting_.limits.inner;
    bool is_last = depth + 1 == nesting_.frames.size();
    for (const Line& line : std::span(lines).first(std::min(lines.size(), limit))) {
      append_row_within(nesting_, line, path, is_last, table);
      if (is_last)
        continue;
      path.push_back(line.name);
      append(line.node, depth + 1, path, table);
      path.pop_back();
    }
    return lines.size();
  }

private:
  std::vector<Line> lines_of(uint32_t parent, size_t depth) const {
    std::vector<Line> lines;
    bool is_last = depth + 1 == nesting_.frames.size();
    // The outermost totals are at 0, which is NestedTotal::kNoParent + 1.
    for (uint32_t i : within_[parent + 1]) {
      const NestedTotal& total = totals_[i];
      const ViewKey& key = nesting_.frames[depth][total.key];
      if (total.total == 0 || key.is_gap)
        continue;
      auto place = places_.find(total.key);
      lines.push_back({.name = key.text,
                       .place = is_last && place != places_.end() ? place->second : "",
                       .self = total.self,
                       .total = total.total,
                       .samples = total.samples,
                       .style = is_last ? style_of(key) : Style::kTitle,
                       .node = i});
    }
    sort_lines(lines, nesting_.options.sort);
    return lines;
  }

  const Nesting& nesting_;
  std::vector<NestedTotal> totals_;
  std::vector<std::vector<uint32_t>> within_;  // of each total, behind those of none
  std::map<KeyId, std::string> places_;        // of keys of the last dimension
};

// A row for each key that samples have in the dimension, and below each, indented, those of the
// next one for its samples. `path` has the keys that they are within. Tells how many rows of
// this one there would be. `samples` are numbers in Profile::samples.
size_t append_nested(const Nesting& nesting, const std::vector<uint32_t>& samples,
                     std::vector<std::string>& path, Table& table) {
  size_t level = path.size();
  const ViewOptions& options = nesting.options;
  size_t limit = level == 0 ? nesting.limits.outer : nesting.limits.inner;
  // Dimensions of frames are counted together, frame by frame: below, each sample has one key,
  // which would be that of its leaf.
  if (level == nesting.outer.size() && !nesting.frames.empty())
    return FrameRows(nesting, samples).append(NestedTotal::kNoParent, 0, path, table);
  if (level == nesting.outer.size()) {
    std::vector<Line> lines = nesting.inner->of(samples, options.sort);
    for (const Line& line : std::span(lines).first(std::min(lines.size(), limit)))
      append_row_within(nesting, line, path, /*is_innermost=*/true, table);
    return lines.size();
  }

  const SampleKeys& keys = nesting.outer[level];
  // Each sample is in one group: dimensions of samples do not overlap, unlike the totals of
  // frames.
  std::map<KeyId, std::vector<uint32_t>> groups;
  for (uint32_t sample : samples)
    groups[keys.ids[sample]].push_back(sample);
  std::vector<Line> lines;
  for (const auto& [key, within] : groups) {
    Line& line = lines.emplace_back(
        Line{.name = keys.keys[to_index(key)].text, .style = Style::kTitle, .key = key});
    for (uint32_t sample : within) {
      line.total += nesting.profile.amount(nesting.profile.samples[sample]);
      line.samples += nesting.profile.samples[sample].count;
    }
    // Samples are wholly of one thread or CPU: nothing of them is in another's code.
    line.self = line.total;
  }
  sort_lines(lines, order_of(options.by[level], options.sort));
  for (const Line& line : std::span(lines).first(std::min(lines.size(), limit))) {
    append_row_within(nesting, line, path, /*is_innermost=*/false, table);
    path.push_back(line.name);
    append_nested(nesting, groups[line.key], path, table);
    path.pop_back();
  }
  return lines.size();
}

// Appends the table of functions, or of the dimensions `by`. Returns how many rows there would
// be without a limit.
size_t append_table(const Profile& profile, const ViewOptions& options, const Amounts& amounts,
                    Limits limits, bool is_flat, Table& table) {
  std::vector<std::string> titles = titles_of_dimensions(options);
  if (!is_flat)
    titles = {joined(titles, " / ")};
  // Several dimensions have rows within rows, and no columns beside the name.
  if (options.by.size() > 1) {
    table = empty_table(amounts, titles, has_places(options), options.has_counts);
    Nesting nesting = {.profile = profile,
                       .options = options,
                       .amounts = amounts,
                       .limits = limits,
                       .is_flat = is_flat};
    size_t first = first_of_frames(options.by);
    for (const Dimension& dimension : std::span(options.by).first(first))
      nesting.outer.push_back(sample_keys(profile, profile.samples, dimension));
    if (first + 1 == options.by.size())
      nesting.inner.emplace(profile, options.by.back(), is_flat);
    else
      for (const Dimension& dimension : std::span(options.by).subspan(first))
        nesting.frames.emplace_back(profile, dimension.kind);
    std::vector<std::string> path;
    return append_nested(nesting, all_samples(profile), path, table);
  }
  DimensionRows rows(profile, options.by.empty() ? Dimension() : options.by[0], is_flat);
  std::vector<Line> lines = rows.of(all_samples(profile), options.sort);
  // Programs and what a function waited in are columns only where the screen is wide enough,
  // and if any row has them.
  bool has_room = !is_flat && options.screen.width >= kEnoughForPrograms;
  std::vector<std::string> programs;
  if (has_room)
    programs = rows.programs();
  bool has_waits = has_room && std::ranges::any_of(lines, [](const Line& line) {
                     return !line.waited_in.empty();
                   });
  std::vector<Table::Column> beside;
  if (has_waits)
    beside.push_back({"waits in", Table::Kind::kName});
  if (!programs.empty())
    beside.push_back({"program", Table::Kind::kText});
  table = empty_table(amounts, titles, has_places(options), options.has_counts, beside);
  for (Line& line : std::span(lines).first(std::min(lines.size(), limits.outer))) {
    if (has_waits)
      line.texts.push_back(line.waited_in);
    if (!programs.empty())
      // Only lines of frames have programs, and those have a `frame`.
      line.texts.push_back(programs[to_index(line.frame)]);
    append_row(line, amounts, table);
  }
  return lines.size();
}

// The lines of the functions that were asked for.
Table lines_table(const Profile& profile, const ViewOptions& options, const Amounts& amounts) {
  FrameKeys keys(profile, Dimension::Kind::kLine);
  Table table = empty_table(amounts, {"function and line"}, true, options.has_counts);
  table.columns.back().title = "file";
  std::vector<Line> lines;
  for (const Total& total : frame_totals(profile, profile.samples, keys)) {
    const ViewKey& key = keys[total.key];
    std::string_view name;
    // Code without a name has no lines, and cannot be asked for.
    bool has_function = key.function != ViewKey::kNoFunction;
    if (has_function)
      name = profile.name_of(key.function);
    // By the printable name, which is the one that people have seen.
    if (has_function && options.function->matches(printable(name), key.function_identity))
      lines.push_back({.name = key.text,
                       .place = place_of(profile, key, total, /*has_directories=*/true),
                       .self = total.self,
                       .total = total.total,
                       .samples = total.samples});
  }
  sort_lines(lines, options.sort);
  for (const Line& line :
       std::span(lines).first(std::min(lines.size(), options.limit(SIZE_MAX))))
    append_row(line, amounts, table);
  return table;
}

FrameKeys tree_keys(const Profile& profile, const ViewOptions& options) {
  for (const Dimension& dimension : options.by)
    if (dimension.is_of_frames())
      return {profile, dimension.kind};
  return {profile, Dimension::Kind::kFunction};
}

// By what `by` names of samples. Where that is nothing, people see programs first.
std::vector<SampleKeys> groups_of_tree(const Profile& profile, const ViewOptions& options,
                                       bool is_for_people) {
  if (is_for_people && options.by.empty() && options.view != View::kInverted)
    return program_groups(profile, profile.samples);
  std::vector<SampleKeys> groups;
  for (const Dimension& dimension : options.by)
    if (!dimension.is_of_frames())
      groups.push_back(sample_keys(profile, profile.samples, dimension));
  return groups;
}

CallTree make_tree(const Profile& profile, const ViewOptions& options,
                   bool is_for_people = true) {
  FrameKeys keys = tree_keys(profile, options);
  auto is_wanted = [&](const ViewKey& key) {
    return options.function && options.function->matches(key);
  };
  switch (options.view) {
    case View::kCallers:
      return calls_around(profile, profile.samples, keys, Direction::kFromLeaf, is_wanted);
    case View::kCallees:
      return calls_around(profile, profile.samples, keys, Direction::kFromRoot, is_wanted);
    default:
      break;
  }
  // Only here do groups count: trees around a function begin with it.
  Direction direction =
      options.view == View::kInverted ? Direction::kFromLeaf : Direction::kFromRoot;
  // The largest paths of the summary tell little of how deep a recursion was.
  bool folds = options.folds_recursion || options.view == View::kSummary;
  return call_tree(profile, profile.samples, keys, {direction, folds},
                   groups_of_tree(profile, options, is_for_people));
}

bool is_from_leaf(View view) {
  return view == View::kInverted || view == View::kCallers;
}

bool is_around(View view) {
  return view == View::kCallers || view == View::kCallees;
}

// Calls of a tree that are shown. People see the largest of those around a function alone: a
// server has hundreds that call malloc.
size_t most_calls(const ViewOptions& options, bool is_for_people) {
  constexpr size_t kMostAround = 50;
  if (options.view == View::kSummary)
    return SIZE_MAX;
  return options.limit(is_for_people && is_around(options.view) ? kMostAround : SIZE_MAX);
}

// A share of what the tree is of: of all samples, or of those of the functions it is around,
// which may be few.
CallTree shown_tree(const CallTree& tree, const ViewOptions& options, const Amounts& amounts,
                    bool is_for_people = true) {
  // The user's percentage is of the tree, pruned() takes an amount.
  double percent_of_all =
      options.least_percent * amounts.percent(tree.nodes[0].total) / kPercent;
  CallTree shown = pruned(tree, amounts.least(percent_of_all), options.depth);
  size_t most = most_calls(options, is_for_people);
  return shown.nodes.size() > most ? largest(shown, most) : shown;
}

// "2 functions are called main.main; --callers 'main.main (link)' shows one of them"
std::string namesakes_text(std::span<const ChosenKey> meant, const ViewOptions& options) {
  std::map<std::string_view, std::vector<const ChosenKey*>> by_name;
  for (const ChosenKey& one : meant)
    by_name[one.text].push_back(&one);
  for (const auto& [name, namesakes] : by_name)
    if (namesakes.size() > 1)
      return fmt::format("{} functions are called {}; {} {} shows one of them\n",
                         namesakes.size(), name,
                         options.view == View::kCallers ? "--callers" : "--callees",
                         shell_quoted(namesakes.front()->label()));
  return {};
}

// "callers of main.fib: 92.10 % of the total, 9.05 s", and namesakes_text()
std::string around_headline(const Profile& profile, const CallTree& tree,
                            const ViewOptions& options, const Amounts& amounts) {
  FrameKeys keys = tree_keys(profile, options);
  std::vector<ChosenKey> meant;
  for (const Total& total : frame_totals(profile, profile.samples, keys))
    if (options.function->matches(keys[total.key]))
      meant.push_back(keys.choose(profile, keys[total.key]));
  std::vector<std::string> names;
  for (const ChosenKey& one : meant)
    names.push_back(one.label());
  if (names.empty())
    return fmt::format("no function matches '{}'\n", printable(options.function->text()));
  // Node 0 of the tree stands for all of these functions.
  return fmt::format(
      "{} {}: {:.2f} % of the total, {} {}\n{}\n",
      options.view == View::kCallers ? "callers of" : "callees of", first_of(names),
      amounts.percent(tree.nodes[0].total), amounts.text(tree.nodes[0].total),
      amounts.unit().empty() ? "events" : amounts.unit(), namesakes_text(meant, options));
}

// Says how many calls are left out, and which options show them.
std::string left_out_text(const CallTree& whole, const CallTree& shown,
                          const ViewOptions& options) {
  size_t left_out = whole.nodes.size() - shown.nodes.size();
  if (left_out == 0)
    return {};
  // The tree has the root besides the calls, so it is larger than the limit if that has cut it.
  // Forms for programs do not show this text.
  bool is_cut = shown.nodes.size() > most_calls(options, /*is_for_people=*/true);
  return fmt::format("{} smaller{} calls are left out; {}{}{} {}\n", with_commas(left_out),
                     options.depth == UINT32_MAX ? "" : ", or deeper,",
                     options.least_percent > 0 ? "--min 0" : "",
                     options.least_percent > 0 && is_cut ? " " : "",
                     is_cut || options.least_percent <= 0 ? "--top 0" : "",
                     options.depth == UINT32_MAX ? "shows all" : "without --depth shows all");
}

// The numbers of rows of the table and of the tree: on a terminal, as many as do not scroll
// away.
struct Room {
  size_t rows = kDefaultRows;
  size_t paths = kDefaultPaths;
};

Room room_of(const ViewOptions& options, size_t used_lines) {
  if (options.screen.height == SIZE_MAX)
    return {};
  // Both titles, two empty lines, what is left out of both, and the shell's prompt.
  constexpr size_t kTitles = 7;
  constexpr size_t kLeastRows = 4;
  constexpr size_t kLeastPaths = 3;
  // The table has three fifths of the room, and the paths what it leaves; on a small screen
  // both have their least, and the top scrolls away.
  size_t free = options.screen.height - std::min(options.screen.height, used_lines + kTitles);
  // A tall screen has more paths than the kDefaultPaths of a file, and no more than rows.
  size_t rows = std::clamp(free * 3 / 5, kLeastRows, kDefaultRows);
  return {rows, std::clamp(free - std::min(free, rows), kLeastPaths, kDefaultRows)};
}

std::string count_line(size_t shown, size_t all, std::string_view what) {
  if (shown >= all)
    return {};
  return fmt::format("{} of {} {}; --top 0 shows all\n", with_commas(shown), with_commas(all),
                     what);
}

// The part of a view that a form of output shows.
struct Extent {
  Limits rows;
  size_t paths = 0;  // of the tree below the table; 0: there is none
  bool is_for_people = true;
};

void add_summary(const Profile& profile, const ViewOptions& options, const Extent& extent,
                 Document& document) {
  document.table.emplace();
  size_t all = append_table(profile, options, document.amounts, extent.rows,
                            /*is_flat=*/!extent.is_for_people, *document.table);
  document.below_table =
      count_line(extent.rows.outer, all, options.by.empty() ? "functions" : "rows");
  if (!options.by.empty() || extent.paths == 0)
    return;
  // Chains are joined before the largest paths are chosen: their calls would take the rows of
  // other paths.
  CallTree tree =
      with_joined_chains(shown_tree(make_tree(profile, options), options, document.amounts));
  document.tree = Document::Tree{largest(tree, extent.paths), TreeColumns::kTotalAndSelf};
  if (document.tree->calls.nodes.size() < tree.nodes.size())
    document.below_tree = "the largest paths; --tree shows all calls\n";
}

void add_tree(const Profile& profile, const ViewOptions& options, const Extent& extent,
              Document& document) {
  CallTree whole = make_tree(profile, options, extent.is_for_people);
  CallTree shown = shown_tree(whole, options, document.amounts, extent.is_for_people);
  if (is_around(options.view) && extent.is_for_people)
    document.heading = around_headline(profile, whole, options, document.amounts);
  document.below_tree = left_out_text(whole, shown, options);
  document.tree =
      Document::Tree{std::move(shown), is_from_leaf(options.view) ? TreeColumns::kTotal
                                                                  : TreeColumns::kTotalAndSelf};
}

void add_view(const Profile& profile, const ViewOptions& options, const Extent& extent,
              Document& document) {
  switch (options.view) {
    case View::kSummary:
      return add_summary(profile, options, extent, document);
    case View::kLines:
      document.table = lines_table(profile, options, document.amounts);
      return;
    default:
      return add_tree(profile, options, extent, document);
  }
}

// Lines at the top are cut where notes are wrapped: they say least at their ends.
std::string facts_text(const About& about, const Screen& screen) {
  std::string text = cut_at_end(about.headline, screen.width) + '\n';
  for (const Note& fact : about.facts)
    for (const std::string& line : lines_of(fact))
      text += cut_at_end(line, screen.width) + '\n';
  return text;
}

// Prose is wrapped; rows have columns, and are not.
std::string notes_text(const std::vector<Note>& notes, const Screen& screen) {
  std::string text;
  for (const Note& note : notes)
    for (const std::string& line : lines_of(note))
      text += (note.rows.empty() ? wrapped(line, screen.width, kNoteIndent) : line) + '\n';
  return text;
}

size_t count_lines(std::string_view text) {
  return static_cast<size_t>(std::ranges::count(text, '\n'));
}

Document text_document(const Profile& profile, const ViewOptions& options) {
  bool shows_all = options.is_verbose || options.top == 0;
  Document document{Amounts(profile)};
  document.about = make_about(profile, document.amounts,
                              {.max_processes = shows_all ? SIZE_MAX : kMaxProcessesShown,
                               .is_verbose = options.is_verbose,
                               .top = options.limit(kDefaultRows),
                               .screen = options.screen});
  // Notes are made first, for the view has to leave room for them.
  size_t used = count_lines(facts_text(document.about, options.screen)) + 1 +
                count_lines(notes_text(document.about.notes, options.screen));
  // write_lines() shows lines with their sources, which only the command reads.
  if (options.view == View::kLines && options.write_lines) {
    document.heading = options.write_lines(profile, options, document.amounts);
    return document;
  }
  Room room = room_of(options, used);
  add_view(profile, options,
           {{options.limit(room.rows), options.limit(kDefaultInnerRows)}, room.paths},
           document);
  if (options.view == View::kLines && document.table->rows.empty()) {
    document.table.reset();
    document.heading =
        fmt::format("no function matches '{}'\n", printable(options.function->text()));
  }
  return document;
}

// Few rows, and of the notes those without which the figures would mislead.
Document message_document(const Profile& profile, const ViewOptions& options) {
  constexpr size_t kRows = 10;
  Document document{Amounts(profile)};
  document.about = {make_headline(profile, document.amounts), {}, damage_notes(profile)};
  add_view(profile, options, {{options.limit(kRows), kDefaultInnerRows}, kDefaultPaths},
           document);
  return document;
}

// All rows, with all digits.
Document exact_document(const Profile& profile, const ViewOptions& options) {
  Document document{Amounts::exact(profile)};
  size_t limit = options.limit(SIZE_MAX);
  add_view(profile, options, {.rows = {limit, limit}, .is_for_people = false}, document);
  // Among the lines of a function a row of damage would be taken for one of them.
  if (options.view != View::kLines)
    document.about.notes = damage_notes(profile);
  return document;
}

Table table_of(const CallTree& tree, const Amounts& amounts) {
  Table table = empty_table(amounts, {"function"}, false, false);
  table.columns.push_back({"depth"});
  for (const CallNode& node : std::span(tree.nodes).subspan(1)) {
    append_row({.name = tree.key_of(node).text, .self = node.self, .total = node.total},
               amounts, table);
    table.rows.back().push_back({std::to_string(node.depth)});
  }
  return table;
}

// Rows without numbers, for a file of rows has no other place.
void append_notes(const std::vector<Note>& notes, Table& table) {
  // A note is told in the column of names, which each reader shows.
  auto names = std::ranges::find_if(table.columns, [](const Table::Column& column) {
    return column.kind == Table::Kind::kName || column.kind == Table::Kind::kFunction;
  });
  if (names == table.columns.end())
    return;
  for (const Note& note : notes) {
    Table::Row row(table.columns.size());
    row[static_cast<size_t>(names - table.columns.begin())].text =
        fmt::format("{}: {}", note.title, note.text);
    table.rows.push_back(std::move(row));
  }
}

}  // namespace

std::string make_text(const Profile& profile, const ViewOptions& options) {
  const Document document = text_document(profile, options);
  std::string text = facts_text(document.about, options.screen) + '\n' + document.heading;
  if (document.table)
    text += text_of(*document.table, options.screen) + document.below_table;
  // A tree of nothing but the root says nothing.
  if (document.tree && document.tree->calls.nodes.size() > 1)
    text += (document.table ? "\n" : "") + tree_text(document.tree->calls, document.amounts,
                                                     document.tree->columns, options.screen);
  text += document.below_tree;
  std::string notes = notes_text(document.about.notes, options.screen);
  return notes.empty() ? text : text + '\n' + notes;
}

std::string make_markdown(const Profile& profile, const ViewOptions& options) {
  // The heading, and the lines about what is left out, are for terminals: a message has none.
  const Document document = message_document(profile, options);
  std::string text = document.about.headline + "\n\n";
  for (const Note& note : document.about.notes)
    text += fmt::format("{}: {}\n\n", note.title, note.text);
  if (document.table)
    text += markdown_of(*document.table);
  if (document.tree)
    text += fmt::format("\n```\n{}```\n", tree_text(document.tree->calls, document.amounts,
                                                    document.tree->columns, Screen()));
  return text;
}

Table make_table(const Profile& profile, const ViewOptions& options) {
  Document document = exact_document(profile, options);
  Table table = document.tree ? table_of(document.tree->calls, document.amounts)
                              : *std::move(document.table);
  append_notes(document.about.notes, table);
  return table;
}

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Units of bytes, the largest first.
constexpr std::pair<std::string_view, uint64_t> kByteUnits[] = {
    {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};

bool measures_bytes(const Profile& profile) {
  return profile.event().unit == "bytes";
}

// One that the amount is some of.
std::string_view byte_unit_of(uint64_t amount) {
  for (auto [unit, size] : kByteUnits)
    if (amount >= size)
      return unit;
  return "B";
}

}  // namespace

Amounts::Amounts(const Profile& profile, uint64_t amount, uint64_t total)
    : period_(profile.period()), total_(total) {
  // The unit is that of `amount` alone, so that a column of smaller ones has it, too.
  if (profile.measures_time())
    unit_ = amount * period_ < kSecond ? "ms" : "s";
  else if (measures_bytes(profile))
    unit_ = byte_unit_of(amount);
}

std::string Amounts::text(uint64_t amount) const {
  if (is_exact_)
    return std::to_string(amount * period_);
  auto value = static_cast<double>(amount * period_);
  if (unit_ == "s")
    return fmt::format("{:.2f}", value / 1e9);
  if (unit_ == "ms")
    return fmt::format("{:.1f}", value / 1e6);
  // Bytes without a larger unit are whole numbers, as counts are.
  for (auto [unit, size] : kByteUnits)
    if (unit_ == unit && size > 1)
      return fmt::format("{:.2f}", value / static_cast<double>(size));
  return with_commas(amount * period_);
}

double Amounts::percent(uint64_t amount) const {
  return gosym::percent(amount, total_);
}

uint64_t Amounts::least(double percent) const {
  return std::max<uint64_t>(1,
                            static_cast<uint64_t>(percent / 100 * static_cast<double>(total_)));
}

Amounts Amounts::exact(const Profile& profile) {
  Amounts amounts(profile);
  amounts.is_exact_ = true;
  if (!amounts.unit_.empty())
    amounts.unit_ = measures_bytes(profile) ? "B" : "ns";
  return amounts;
}

std::string Amounts::percent_text(uint64_t amount) const {
  return fmt::format("{:.{}f}", percent(amount), is_exact_ ? 4 : 2);
}

std::string title_of(std::string_view what, const Amounts& amounts) {
  return amounts.unit().empty() ? std::string(what)
                                : fmt::format("{} {}", what, amounts.unit());
}

}  // namespace gosym
