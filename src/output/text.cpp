#include "output/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/percent.h"
#include "base/text.h"
#include "model/container.h"
#include "output/tree.h"
#include "output/unnamed.h"
#include "profile/own_code.h"
#include "profile/rewrite_stacks.h"
#include "view/call_tree.h"
#include "view/frame_keys.h"
#include "view/totals.h"

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
  uint32_t node = 0;  // likewise, of nested totals
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

size_t limit_of(std::optional<size_t> top, size_t otherwise) {
  return top ? (*top == 0 ? SIZE_MAX : *top) : otherwise;
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
    table.columns.insert(table.columns.begin() + kCountColumn, {std::string(kCountTitle)});
  for (const std::string& title : name_titles)
    table.columns.push_back(
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
// this one there would be.
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
       std::span(lines).first(std::min(lines.size(), limit_of(options.top, SIZE_MAX))))
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
  return limit_of(options.top,
                  is_for_people && is_around(options.view) ? kMostAround : SIZE_MAX);
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

// "2 functions have the name main.main; --callers 'main.main (link)' shows one"
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

// "callers of main.fib: 92.10 % total, 12.00 % self"
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
  constexpr size_t kNamed = 3;
  std::string text = joined(std::span(names).first(std::min(names.size(), kNamed)), ", ");
  if (names.size() > kNamed)
    text += fmt::format(" and {} more", names.size() - kNamed);
  if (names.empty())
    return fmt::format("no function matches '{}'\n", printable(options.function->text()));
  return fmt::format("{} {}: {:.2f} % of the total, {} {}\n{}\n",
                     options.view == View::kCallers ? "callers of" : "callees of", text,
                     amounts.percent(tree.nodes[0].total), amounts.text(tree.nodes[0].total),
                     amounts.unit().empty() ? "events" : amounts.unit(),
                     namesakes_text(meant, options));
}

std::string tree_view(const Profile& profile, const ViewOptions& options,
                      const Amounts& amounts) {
  CallTree whole = make_tree(profile, options);
  CallTree tree = shown_tree(whole, options, amounts);
  // `tree` has the root besides the calls, so it is larger than the limit if that has cut it.
  bool is_cut = tree.nodes.size() > most_calls(options, /*is_for_people=*/true);
  std::string text =
      is_around(options.view) ? around_headline(profile, whole, options, amounts) : "";
  if (tree.nodes.size() > 1)
    text +=
        tree_text(tree, amounts,
                  is_from_leaf(options.view) ? TreeColumns::kTotal : TreeColumns::kTotalAndSelf,
                  options.screen);
  if (size_t left_out = whole.nodes.size() - tree.nodes.size(); left_out > 0)
    text +=
        fmt::format("{} smaller{} calls are left out; {}{}{} {}\n", with_commas(left_out),
                    options.depth == UINT32_MAX ? "" : ", or deeper,",
                    options.least_percent > 0 ? "--min 0" : "",
                    options.least_percent > 0 && is_cut ? " " : "",
                    is_cut || options.least_percent <= 0 ? "--top 0" : "",
                    options.depth == UINT32_MAX ? "shows all" : "without --depth shows all");
  return text;
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
  size_t rows = std::clamp(free * 3 / 5, kLeastRows, kDefaultRows);
  return {rows, std::clamp(free - std::min(free, rows), kLeastPaths, kDefaultRows)};
}

std::string count_line(size_t shown, size_t all, std::string_view what) {
  if (shown >= all)
    return {};
  return fmt::format("{} of {} {}; --top 0 shows all\n", with_commas(shown), with_commas(all),
                     what);
}

std::string summary_view(const Profile& profile, const ViewOptions& options,
                         const Amounts& amounts, size_t used_lines) {
  Room room = room_of(options, used_lines);
  size_t limit = limit_of(options.top, room.rows);
  Table table;
  size_t all =
      append_table(profile, options, amounts, {limit, limit_of(options.top, kDefaultInnerRows)},
                   /*is_flat=*/false, table);
  std::string text = text_of(table, options.screen);
  text += count_line(limit, all, options.by.empty() ? "functions" : "rows");
  if (!options.by.empty())
    return text;
  // Chains are joined before the largest paths are chosen: their calls would take the rows of
  // other paths.
  CallTree tree = with_joined_chains(shown_tree(make_tree(profile, options), options, amounts));
  CallTree shown = largest(tree, room.paths);
  if (shown.nodes.size() > 1)
    text += '\n' + tree_text(shown, amounts, TreeColumns::kTotalAndSelf, options.screen);
  if (shown.nodes.size() < tree.nodes.size())
    text += "the largest paths; --tree shows all calls\n";
  return text;
}

std::string view_text(const Profile& profile, const ViewOptions& options,
                      const Amounts& amounts, size_t used_lines) {
  switch (options.view) {
    case View::kSummary:
      return summary_view(profile, options, amounts, used_lines);
    case View::kLines: {
      if (options.write_lines)
        return options.write_lines(profile, options, amounts);
      Table table = lines_table(profile, options, amounts);
      if (table.rows.empty())
        return fmt::format("no function matches '{}'\n", printable(options.function->text()));
      return text_of(table, options.screen);
    }
    default:
      return tree_view(profile, options, amounts);
  }
}

size_t count_lines(std::string_view text) {
  return static_cast<size_t>(std::ranges::count(text, '\n'));
}

Table tree_table(const CallTree& tree, const Amounts& amounts) {
  Table table = empty_table(amounts, {"function"}, false, false);
  table.columns.push_back({"depth"});
  for (const CallNode& node : std::span(tree.nodes).subspan(1)) {
    append_row({.name = tree.key_of(node).text, .self = node.self, .total = node.total},
               amounts, table);
    table.rows.back().push_back({std::to_string(node.depth)});
  }
  return table;
}

}  // namespace

std::string make_text(const Profile& profile, const ViewOptions& options) {
  Amounts amounts(profile);
  bool shows_all = options.is_verbose || options.top == 0;
  std::string header =
      make_header(profile, amounts, shows_all ? SIZE_MAX : kMaxProcessesShown, options.screen);
  std::string notes = make_notes(profile, options.is_verbose,
                                 limit_of(options.top, kDefaultRows), options.screen);
  // Notes are made first, for the view has to leave room for them.
  std::string text =
      header + '\n' +
      view_text(profile, options, amounts, count_lines(header) + count_lines(notes) + 1);
  return notes.empty() ? text : text + '\n' + notes;
}

// Rows without numbers, for a file of rows has no other place.
void append_damage(const Profile& profile, Table& table) {
  // The damage is told in the column of names, which each reader shows.
  auto names = std::ranges::find_if(table.columns, [](const Table::Column& column) {
    return column.kind == Table::Kind::kName || column.kind == Table::Kind::kFunction;
  });
  if (names == table.columns.end())
    return;
  for (const std::string& what : profile.damage) {
    Table::Row row(table.columns.size());
    row[static_cast<size_t>(names - table.columns.begin())].text = "damaged: " + what;
    table.rows.push_back(std::move(row));
  }
}

Table make_table(const Profile& profile, const ViewOptions& options) {
  Amounts amounts = Amounts::exact(profile);
  if (options.view == View::kLines)
    return lines_table(profile, options, amounts);
  Table table;
  if (options.view == View::kSummary)
    append_table(profile, options, amounts,
                 {limit_of(options.top, SIZE_MAX), limit_of(options.top, SIZE_MAX)},
                 /*is_flat=*/true, table);
  else
    table = tree_table(
        shown_tree(make_tree(profile, options, /*is_for_people=*/false), options, amounts,
                   /*is_for_people=*/false),
        amounts);
  append_damage(profile, table);
  return table;
}

std::string make_markdown(const Profile& profile, const ViewOptions& options) {
  constexpr size_t kRows = 10;
  Amounts amounts(profile);
  std::string text = make_headline(profile, amounts) + "\n\n";
  for (const std::string& what : profile.damage)
    text += "damaged: " + what + "\n\n";
  if (options.view == View::kSummary) {
    Table table;
    append_table(profile, options, amounts, {limit_of(options.top, kRows), kDefaultInnerRows},
                 /*is_flat=*/false, table);
    text += markdown_of(table);
  } else if (options.view == View::kLines) {
    text += markdown_of(lines_table(profile, options, amounts));
  }
  if (options.view == View::kLines || (options.view == View::kSummary && !options.by.empty()))
    return text;
  CallTree tree = shown_tree(make_tree(profile, options), options, amounts);
  if (options.view == View::kSummary)
    tree = largest(with_joined_chains(tree), kDefaultPaths);
  return text + "\n```\n" +
         tree_text(
             tree, amounts,
             is_from_leaf(options.view) ? TreeColumns::kTotal : TreeColumns::kTotalAndSelf,
             Screen()) +
         "```\n";
}

namespace {

constexpr size_t kMaxLabelsShown = 10;
double seconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

std::string utc_time(uint64_t realtime_ns) {
  auto time = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  std::array<char, 64> text{};  // a year of 64 bits of seconds has 12 digits
  // Years beyond those of std::tm, as a damaged recording may have.
  if (!gmtime_r(&time, &parts))
    return "?";
  size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

// "cc1plus (12 processes) 61.0 %, prometheus (77) 21.3 %, and 4 more"
std::string list_programs(const Profile& profile, const Hosts& hosts, size_t limit) {
  std::vector<ProfiledProgram> programs = find_programs(profile, profile.samples, hosts);
  std::vector<std::string> items;
  for (const ProfiledProgram& program :
       std::span(programs).first(std::min(programs.size(), limit))) {
    const ProfiledProcess& first = program.processes.front();
    items.push_back(
        fmt::format("{} ({}) {:.1f} %", printable(profile.strings[program.comm]),
                    program.processes.size() > 1
                        ? fmt::format("{} processes", with_commas(program.processes.size()))
                        : fmt::format("{}{}", first.pid, printable(hosts.suffix(first.host))),
                    percent(program.amount, profile.total_amount())));
  }
  if (items.size() < programs.size())
    items.push_back(fmt::format("and {} more", programs.size() - items.size()));
  return joined(items, ", ");
}

// "demo (4242) 98.2 %, kworker/0:1 (77) 1.8 %"; of more than the limit, those of one name
// together.
std::string list_processes(const Profile& profile, size_t limit) {
  Hosts hosts(profile);
  std::vector<ProfiledProcess> processes = find_processes(profile, profile.samples, hosts);
  // Too many processes: those of one program are put together before any are left out.
  if (processes.size() > limit)
    return list_programs(profile, hosts, limit);
  uint64_t total = profile.total_amount();
  std::vector<std::string> items;
  for (const ProfiledProcess& process : processes)
    items.push_back(fmt::format("{} ({}){} {:.1f} %", printable(profile.strings[process.comm]),
                                process.pid, printable(hosts.suffix(process.host)),
                                percent(process.amount, total)));
  return joined(items, ", ");
}

// "3f2a9c01be42 61.0 %, 77ab0e0c4d11 12.4 %": those with most, of a total.
std::string list_shares(const std::map<std::string_view, uint64_t>& amounts, uint64_t total) {
  std::vector<std::pair<std::string_view, uint64_t>> sorted(amounts.begin(), amounts.end());
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second; });
  std::vector<std::string> items;
  for (const auto& [name, amount] : sorted)
    if (items.size() < kMaxProcessesShown)
      items.push_back(fmt::format("{} {:.1f} %", printable(name), percent(amount, total)));
  if (items.size() < sorted.size())
    items.push_back(fmt::format("and {} more", sorted.size() - items.size()));
  return joined(items, ", ");
}

// Ids as short as docker shows them.
std::string list_containers(const Profile& profile) {
  constexpr size_t kShownId = 12;
  std::map<std::string_view, uint64_t> amounts;
  for (const SampleCount& sample : profile.samples)
    if (std::string_view id = container_id(profile.strings[sample.cgroup]); !id.empty())
      amounts[id.substr(0, kShownId)] += profile.amount(sample);
  return list_shares(amounts, profile.total_amount());
}

// "sleeping 61.2 %, throttled 30.1 %": what threads did while they waited; empty if none did.
std::string list_states(const Profile& profile) {
  std::map<std::string_view, uint64_t> amounts;
  for (const SampleCount& sample : profile.samples)
    if (sample.state != StringId{})
      amounts[profile.strings[sample.state]] += profile.amount(sample);
  return list_shares(amounts, profile.total_amount());
}

// "10,012 on average, 31.8 looked at each time": how many a sample stands for; empty where they
// were not sampled, or not all samples are there.
std::string goroutine_counts(const Profile& profile) {
  constexpr double kAll = 0.95;  // looks come a little late
  double seconds_in_all = seconds(profile.duration_ns);
  // Looks were due at each tick; only with all samples of one recording does the quotient say
  // how many goroutines each look found.
  double looks = seconds_in_all * static_cast<double>(profile.event().frequency);
  if (profile.event().name != kWallEvent || looks < 1 || !profile.filter.empty() ||
      profile.recordings.size() > 1)
    return {};
  double goroutines = seconds(profile.total_amount()) / seconds_in_all;
  double looked_at = static_cast<double>(profile.total_count()) / looks;
  auto average = with_commas(static_cast<uint64_t>(std::llround(goroutines)));
  return looked_at >= kAll * goroutines
             ? fmt::format("{} on average, all looked at each time", average)
             : fmt::format("{} on average, {:.1f} looked at each time", average, looked_at);
}

// "80 ms for demo (4242), 20 ms for nginx (77)": processes whose waits were too many for the
// threshold of the event; empty if none's were.
std::string list_thresholds(const Profile& profile) {
  if (!has_intervals(profile.event()))
    return {};
  Hosts hosts(profile);
  std::vector<std::string> items;
  for (const RaisedThreshold& raised : profile.raised_thresholds)
    if (items.size() < kMaxProcessesShown)
      items.push_back(
          fmt::format("{} for {} ({}){}", time_text(raised.nanoseconds),
                      printable(profile.strings[raised.process]), raised.pid,
                      printable(hosts.suffix(hosts.of_recording(raised.recording)))));
  if (items.size() < profile.raised_thresholds.size())
    items.push_back(fmt::format("and {} more",
                                with_commas(profile.raised_thresholds.size() - items.size())));
  return joined(items, ", ");
}

// "handler (12), name (4)": each key of labels with the number of its values.
std::string list_labels(const Profile& profile) {
  std::set<std::pair<std::string_view, std::string_view>> labels;
  for (const std::vector<ProfileLabel>& set : profile.label_sets)
    for (const ProfileLabel& label : set)
      labels.emplace(profile.strings[label.key], profile.strings[label.value]);
  std::map<std::string_view, size_t> counts;
  for (const auto& label : labels)
    counts[label.first]++;

  std::vector<std::string> items;
  for (const auto& [key, count] : counts)
    if (items.size() < kMaxLabelsShown)
      items.push_back(fmt::format("{} ({})", printable(key), with_commas(count)));
  if (items.size() < counts.size())
    items.push_back(fmt::format("and {} more", counts.size() - items.size()));
  return joined(items, ", ");
}

// "from 3.1 to 5.2 s on CPU 0 and 1", of what the counts say was lost; empty if nothing tells.
std::string when_lost(const Profile& profile, uint64_t CpuCounts::*what) {
  uint64_t begin = UINT64_MAX;
  uint64_t end = 0;
  std::set<uint32_t> cpus;
  for (const Loss& loss : profile.losses) {
    // Losses are kept by interval and CPU: those of other kinds say nothing about this one.
    if (loss.counts.*what == 0)
      continue;
    begin = std::min(begin, loss.begin);
    end = std::max(end, loss.end);
    cpus.insert(loss.counts.cpu);
  }
  if (cpus.empty())
    return {};
  std::vector<std::string> numbers;
  for (uint32_t cpu : cpus)
    numbers.push_back(std::to_string(cpu));
  std::string which = cpus.size() > 4 ? fmt::format("{} CPUs", cpus.size())
                                      : fmt::format("CPU {}", joined(numbers, " and "));
  return fmt::format(", from {:.1f} to {:.1f} s on {}", seconds(begin), seconds(end), which);
}

// Samples of perf_event stand for no others, and what they lack is known at the end only.
std::string make_skipped(const Profile& profile) {
  const RecordingStats& stats = profile.stats;
  uint64_t skipped = stats.sum_of(&CpuCounts::skipped);
  bool is_missing = profile.info.sampler == "perf";
  return fmt::format(
      "skipped    {} of {} ticks ({:.1f} %){}: {}\n", with_commas(skipped),
      with_commas(stats.samples + stats.lost_samples + skipped), stats.skipped_percent(),
      is_missing ? fmt::format(", {:.2f} s of CPU time", seconds(skipped * profile.period()))
                 : when_lost(profile, &CpuCounts::skipped),
      why_skipped(profile.info));
}

// For all that was recorded: a filter leaves out what the kernel does not tell apart.
std::string make_unsampled(const Profile& profile) {
  auto unsampled = unsampled_ns(profile.info, profile.stats);
  if (!unsampled || !profile.filter.empty() || !profile.measures_cpu_time())
    return {};
  uint64_t charged = profile.stats.charged_ns;
  auto amount = static_cast<uint64_t>(std::abs(*unsampled));
  // More was charged than sampled: the rest ran between ticks. A small excess is chance, and
  // says nothing.
  if (*unsampled > 0)
    return fmt::format(
        "unsampled  {:.2f} s ({:.1f} %) of {:.2f} s that the kernel charged has no sample: "
        "mostly "
        "{}\n",
        seconds(amount), percent(amount, charged), seconds(charged),
        profile.info.sampler == "perf" ? "of threads that ended before their first tick"
                                       : "its own switching between threads and timers");
  if (percent(amount, charged) < kMuchExcess)
    return {};
  return fmt::format(
      "excess     the samples stand for {:.2f} s ({:.1f} %) more than the {:.2f} s that the "
      "kernel "
      "charged: shares may be wrong\n",
      seconds(amount), percent(amount, charged), seconds(charged));
}

std::string make_loss(const Profile& profile) {
  const RecordingStats& stats = profile.stats;
  uint64_t throttled = stats.sum_of(&CpuCounts::throttled_ns);
  uint64_t lost_ns = stats.sum_of(&CpuCounts::lost_ns);
  std::string text;
  // Lost samples were taken as well, so that the share is of all that were.
  uint64_t taken = stats.samples + stats.lost_samples;
  if (stats.lost_samples > 0)
    text += fmt::format("lost       {} of {} samples ({:.1f} %){}{}\n",
                        with_commas(stats.lost_samples), with_commas(taken),
                        percent(stats.lost_samples, taken),
                        lost_ns > 0 ? fmt::format(", {:.2f} s of {}", seconds(lost_ns),
                                                  printable(amount_text(profile.event())))
                                    : "",
                        when_lost(profile, &CpuCounts::lost_samples));
  if (stats.lost_events > 0)
    text += fmt::format("lost       {} events; mappings and names may be missing{}\n",
                        with_commas(stats.lost_events),
                        when_lost(profile, &CpuCounts::lost_events));
  if (stats.skipped_percent() > 0)
    text += make_skipped(profile);
  if (throttled > 0)
    text += fmt::format("throttled  {:.2f} s of CPU time without samples, by the kernel{}\n",
                        seconds(throttled), when_lost(profile, &CpuCounts::throttled_ns));
  return text;
}

// The stacks that UnwindCounts counts. It counts all recorded ones, for nothing tells which of
// the selected stacks were repaired.
std::string_view walked_stacks(const Profile& profile) {
  return profile.recorded_amounts.empty() ? "the stacks" : "all stacks";
}

// Threads of the Go runtime have a stack like this now and then; a few change no figure.
std::string make_truncated(const Profile& profile) {
  constexpr double kNoticed = 1;
  const UnwindCounts& unwound = profile.unwound;
  double cut = percent(unwound.cut, unwound.samples);
  double unknown = percent(unwound.unknown, unwound.samples);
  double deep = percent(unwound.deep, unwound.samples);
  std::string_view which = walked_stacks(profile);
  std::string text;
  if (deep >= kNoticed)
    text += fmt::format(
        "deep       {:.1f} % of {} have more frames than are kept: total % is a lower "
        "bound for functions in their middle\n",
        deep, which);
  if (cut >= kNoticed)
    text += fmt::format("truncated  {:.1f} % of {} are incomplete: total % is a lower bound\n",
                        cut, which);
  if (unknown >= kNoticed)
    text += fmt::format(
        "unknown    {:.1f} % of {} end in code without unwind tables: callers may be "
        "missing\n",
        unknown, which);
  return text;
}

// Says how stacks were changed; nothing if they are as the frame pointers told them.
std::string make_stack_note(const Profile& profile) {
  if (profile.unwound.repaired == 0)
    return {};
  return fmt::format("repaired   {:.1f} % of {}: missing callers found by unwind tables\n",
                     percent(profile.unwound.repaired, profile.unwound.samples),
                     walked_stacks(profile));
}

// Says what was left out of the stacks, or put into them.
std::string make_sampler_note(const Profile& profile) {
  if (profile.info.sampler != "perf")
    return {};
  return fmt::format("sampled    by perf_event's call chains: no goroutines{}\n",
                     profile.info.has_kernel ? "" : ", no kernel code");
}

// Fewer samples than this make shares of a few percent that are mere chance. Long waits are all
// sampled, so that these shares are none.
constexpr uint64_t kFewSamples = 200;

std::string make_few_note(const Profile& profile) {
  if (profile.total_count() >= kFewSamples || has_intervals(profile.event()) ||
      !profile.info.has_counts)
    return {};
  return fmt::format("few        {}: shares are rough; record longer, or at a higher rate\n",
                     count_text(profile.total_count(), "sample"));
}

}  // namespace

namespace {

constexpr size_t kNoteIndent = 11;  // of the text behind the first word of a line

std::string wrapped_lines(std::string_view lines, const Screen& screen) {
  std::string text;
  while (!lines.empty())
    text += wrapped(take_line(lines), screen.width, kNoteIndent) + '\n';
  return text;
}

// "9.05 s", "4,100".
std::string with_unit(const Amounts& amounts, uint64_t amount) {
  std::string text = amounts.text(amount);
  return amounts.unit().empty() ? text : fmt::format("{} {}", text, amounts.unit());
}

constexpr size_t kMaxParts = 60;

// The length of the parts of the time that load is shown of, in nanoseconds: whole steps of a
// page, and some ticks of each CPU, or its height would be chance.
uint64_t part_of_load(const Profile& profile, size_t most_parts) {
  uint64_t step = step_of_page(profile.duration_ns);
  uint64_t least = std::max(4 * profile.period(), profile.duration_ns / most_parts);
  return std::max<uint64_t>(1, (least + step - 1) / step) * step;
}

// The number of CPUs that were used in each part; empty if there are less than two parts. Time
// that is left at the end counts with the last one.
std::vector<double> load_of(const Profile& profile, uint64_t part) {
  size_t count = profile.duration_ns / part;
  if (count < 2)
    return {};
  // One part more than is shown, for the time that is left at the end: it is added to the last
  // part, which is so much longer.
  std::vector<double> cpus = profile.timelines[0].parts(count + 1, (count + 1) * part);
  cpus[count - 1] += cpus[count];
  cpus.pop_back();
  for (double& amount : cpus) {
    uint64_t length = &amount == &cpus.back() ? profile.duration_ns - (count - 1) * part : part;
    amount *= static_cast<double>(profile.period()) / static_cast<double>(length);
  }
  return cpus;
}

// "load       ▁▃▇█▂  each 250 ms, 0.20 to 1.90 CPUs"; empty where time tells nothing.
std::string make_load(const Profile& profile, const Screen& screen) {
  constexpr size_t kTextWidth = 50;
  // The bars get what the text beside them leaves of the line.
  size_t room =
      screen.has_width() ? screen.width - std::min(screen.width, kTextWidth - 1) : kMaxParts;
  if (profile.timelines.empty() || !profile.measures_cpu_time())
    return {};
  uint64_t part = part_of_load(profile, std::min(room, kMaxParts));
  std::vector<double> load = load_of(profile, part);
  if (load.empty())
    return {};
  double most = std::ranges::max(load);
  std::string bars;
  for (double cpus : load)
    bars += bar_of(most == 0 ? 0 : cpus / most);
  // In a part of the time a tick more or less is chance, but no host has more CPUs than it has.
  double all_cpus = profile.info.cpu_count == 0 ? HUGE_VAL : profile.info.cpu_count;
  auto part_ns = static_cast<double>(part);
  return fmt::format("load       {}  each {}, {:.2f} to {:.2f} CPUs", bars,
                     part_ns < 1e9 ? fmt::format("{:.0f} ms", part_ns / 1e6)
                                   : fmt::format("{:.1f} s", part_ns / 1e9),
                     std::min(all_cpus, std::ranges::min(load)), std::min(all_cpus, most));
}

// "own code   12.3 %, and 71.0 % with what it calls, see --mine: module example.com/shop".
// Empty where that tells nothing: there is none, or hardly anything else.
std::string make_own_code(const Profile& profile) {
  constexpr double kNearlyAll = 95;
  if (profile.own_code)
    return fmt::format("own code   {}", profile.own_code->empty()
                                            ? "none is known"
                                            : printable(*profile.own_code));
  // All waits end in the kernel, whoever waits.
  if (has_intervals(profile.event()) || !profile.filter.empty())
    return {};
  std::vector<bool> is_of_own = find_own(profile);
  OwnAmounts own = own_amounts(profile, is_of_own);
  uint64_t total = profile.total_amount();
  if (own.total == 0 || percent(own.self, total) >= kNearlyAll)
    return {};
  return fmt::format("own code   {:.1f} %, and {:.1f} % with what it calls, see --mine: {}",
                     percent(own.self, total), percent(own.total, total),
                     own_code_text(profile, is_of_own));
}

// The command without the folder that gosym was in.
std::string_view without_folder(std::string_view command_line) {
  size_t slash = command_line.substr(0, command_line.find(' ')).rfind('/');
  return slash == command_line.npos ? command_line : command_line.substr(slash + 1);
}

// "2026-11-22T10:00:00Z on web-1 by gosym record -a, Linux 6.1.0 x86_64": what a narrow screen
// cuts off is what says least.
std::string when_and_where(uint64_t start_realtime_ns, const RecordingInfo& info) {
  if (!info.source.empty())
    return printable(info.source) +
           (start_realtime_ns == 0 ? "" : fmt::format(" of {}", utc_time(start_realtime_ns))) +
           (info.command_line.empty()
                ? ""
                : fmt::format(", by {}", printable(without_folder(info.command_line))));
  return fmt::format("{} on {} by {}, Linux {} {}", utc_time(start_realtime_ns),
                     printable(info.host), printable(without_folder(info.command_line)),
                     printable(info.kernel_release), printable(info.machine));
}

// The origin of the samples: a line, or one for each of several recordings.
std::vector<std::string> make_origins(const Profile& profile) {
  constexpr size_t kMaxShown = 5;
  bool is_given = !profile.info.source.empty();
  if (profile.recordings.size() == 1 && is_given)
    return {fmt::format("read       {}, {}",
                        profile.recordings[0].name == "-"
                            ? "standard input"
                            : printable(profile.recordings[0].name),
                        when_and_where(profile.start_realtime_ns, profile.info))};
  if (profile.recordings.size() <= 1)
    return {
        fmt::format("recorded   {}", when_and_where(profile.start_realtime_ns, profile.info))};
  std::vector<uint64_t> counts(profile.recordings.size());
  for (const SampleCount& sample : profile.samples)
    counts[sample.recording] += sample.count;
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::min(counts.size(), kMaxShown); i++) {
    const ProfiledRecording& one = profile.recordings[i];
    lines.push_back(fmt::format(
        "{:<11}{}: {}{}, {}", is_given ? "read" : "recorded", printable(one.name),
        count_text(counts[i], "sample"),
        one.duration_ns == 0 ? "" : fmt::format(" in {:.2f} s", seconds(one.duration_ns)),
        when_and_where(one.start_realtime_ns, one.info)));
  }
  if (counts.size() > kMaxShown)
    lines.push_back(fmt::format("           and {} more; --by recording has them all",
                                counts.size() - kMaxShown));
  return lines;
}

// "610 samples of cpu-clock at 99 Hz: 6.16 s of CPU time"
std::string recorded_amount(const Profile& profile, const Amounts& amounts, bool has_event) {
  std::string what = printable(amount_text(profile.event()));
  return fmt::format("{}{}: {} {}{}", count_text(profile.total_count(), "sample"),
                     has_event ? " of " + printable(event_text(profile.event())) : "",
                     with_unit(amounts, amounts.total()), profile.measures_time() ? "of " : "",
                     what);
}

// The amount of a profile that was read from a file: "610 samples", "610 samples: 6.10 s of CPU
// time", "512.0 KiB of inuse_space".
std::string given_amount(const Profile& profile, const Amounts& amounts) {
  const RecordedEvent& event = profile.event();
  std::string counted = count_text(profile.total_count(), "sample");
  if (event.name == "samples")
    return counted;
  std::string amount = fmt::format("{} of {}", with_unit(amounts, amounts.total()),
                                   printable(amount_text(event)));
  return profile.info.has_counts ? fmt::format("{}: {}", counted, amount) : amount;
}

// "610 goroutines", which are counted, not sampled.
std::string counted_amount(const Profile& profile) {
  return count_text(profile.total_amount(), printable(profile.event().name));
}

std::string headline(const Profile& profile, const Amounts& amounts, bool has_event) {
  const RecordingInfo& info = profile.info;
  // Samples were counted by perf as by gosym, which of other files is not known.
  bool is_recorded = info.source.empty() || !info.sampler.empty();
  std::string text = is_counted(profile.event()) ? counted_amount(profile)
                     : is_recorded               ? recorded_amount(profile, amounts, has_event)
                                                 : given_amount(profile, amounts);
  // Between recordings may lie any time.
  if (profile.recordings.size() > 1)
    return text + fmt::format(" in {} {}", profile.recordings.size(),
                              info.source.empty() ? "recordings" : "files");
  if (profile.duration_ns == 0 && (!info.source.empty() || is_counted(profile.event())))
    return text;
  text += fmt::format(" in {:.2f} s", seconds(profile.duration_ns));
  if (profile.measures_cpu_time() && profile.duration_ns > 0)
    text +=
        fmt::format(", {:.2f}{}",
                    static_cast<double>(amounts.total() * profile.period()) /
                        static_cast<double>(profile.duration_ns),
                    info.cpu_count > 1 ? fmt::format(" of {} CPUs", info.cpu_count) : " CPUs");
  return text;
}

}  // namespace

std::string make_headline(const Profile& profile, const Amounts& amounts, size_t width) {
  std::string text = headline(profile, amounts, /*has_event=*/true);
  // The event's name goes first: CPU time says as much.
  if (display_width(text) <= width || !profile.measures_cpu_time())
    return text;
  return headline(profile, amounts, /*has_event=*/false);
}

std::string make_header(const Profile& profile, const Amounts& amounts, size_t max_processes,
                        const Screen& screen) {
  std::vector<std::string> lines = {make_headline(profile, amounts, screen.width)};
  std::ranges::move(make_origins(profile), std::back_inserter(lines));
  // A profile that was read may not know them.
  if (std::ranges::any_of(profile.samples,
                          [](const SampleCount& sample) {
                            return sample.pid != 0 || sample.comm != StringId{};
                          }) ||
      profile.info.source.empty())
    lines.push_back(fmt::format("processes  {}", list_processes(profile, max_processes)));
  if (std::string states = list_states(profile); !states.empty())
    lines.push_back(fmt::format("states     {}", states));
  if (profile.idle_ns > 0 && has_intervals(profile.event()))
    lines.push_back(fmt::format(
        "idle       {:.2f} s more in idle threads of Go's runtime, see --idle; what "
        "goroutines wait for: record --wall",
        seconds(profile.idle_ns)));
  if (std::string counts = goroutine_counts(profile); !counts.empty())
    lines.push_back(fmt::format("goroutines {}", counts));
  if (std::string thresholds = list_thresholds(profile); !thresholds.empty())
    lines.push_back(fmt::format("threshold  up to {}, which waited more often than is sampled",
                                thresholds));
  if (std::string load = make_load(profile, screen); !load.empty())
    lines.push_back(std::move(load));
  if (!profile.filter.empty())
    lines.push_back(
        fmt::format("only       {}{}", printable(profile.filter),
                    profile.recorded_amounts.empty()
                        ? ""
                        : fmt::format(": {:.1f} % of all",
                                      percent(amounts.total(), profile.recorded_amounts[0]))));
  if (std::string own = make_own_code(profile); !own.empty())
    lines.push_back(std::move(own));
  if (std::string_view estimate = estimate_of(profile); !estimate.empty())
    lines.push_back(fmt::format("estimate   {}", estimate));
  std::string text;
  for (const std::string& line : lines)
    text += (screen.has_width() ? cut_at_end(line, screen.width) : line) + '\n';
  return text;
}

namespace {

// Another file of the same size and time would pass for them.
std::string make_known_note(const Profile& profile) {
  std::vector<std::string> names;
  for (const ProfileImage& image : profile.images)
    if (image.is_told_by_time)
      names.push_back(printable(base_name(image.file.path)));
  if (names.empty())
    return {};
  constexpr size_t kShown = 3;
  size_t rest = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - rest);
  return fmt::format("known      by size and time of change alone, without a build id: {}{}\n",
                     joined(names, ", "), rest == 0 ? "" : fmt::format(" and {} more", rest));
}

}  // namespace

std::string make_notes(const Profile& profile, bool is_verbose, size_t top,
                       const Screen& screen) {
  // Damage comes first: it may be the reason for all that follows.
  std::string text;
  for (const std::string& what : profile.damage)
    text += fmt::format("damaged    {}\n", what);
  text += make_few_note(profile) + make_truncated(profile) + make_loss(profile) +
          make_unsampled(profile) + make_sampler_note(profile) + make_known_note(profile);
  if (std::string containers = list_containers(profile); !containers.empty())
    text += fmt::format("containers {}\n", containers);
  if (profile.label_sets.size() > 1)
    text += fmt::format("labels     {}\n", list_labels(profile));
  text += is_verbose ? make_stack_note(profile) + make_source_note(profile)
                     : make_unnamed_line(profile);
  // Lines so far are prose, and wrapped; the tables of -v have columns, and are not.
  text = wrapped_lines(text, screen);
  if (!is_verbose)
    return text;
  for (StackPart part : {StackPart::kUser, StackPart::kKernel})
    text += make_unnamed_note(profile, part, top);
  return text;
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
